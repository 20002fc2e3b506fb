#include "gpu/encoder/encoder_graph.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/checkpoint/tensor_files.hpp"
#include "gpu/encoder/encoder_names.hpp"
#include "gpu/encoder/relative_positions.hpp"

namespace troupe {
namespace {

using onnx::attribute;
using onnx::shape;
using numbers = std::vector<float>;

constexpr int64_t all_rows = 0;  // of Reshape: as in its input

class graph_builder {
 public:
  graph_builder(const encoder_config& e, uint32_t tokens)
      : e_(e),
        names_(names_of(e.family)),
        files_(e.folder),
        tokens_(tokens),
        heads_(e.heads),
        hidden_(e.hidden),
        width_(e.hidden / e.heads) {
    graph_.file = e.folder;
    graph_.opset = onnx_opset;
    for (const auto* name : {"", "bert.", "roberta.", "mpnet.", "distilbert."})
      if (files_.has(std::string(name) + "embeddings.word_embeddings.weight")) prefix_ = name;
  }

  onnx::graph build() {
    add_inputs();
    auto x = embeddings();
    const auto mask = node("Cast", {"attention_mask"}, {{"to", onnx_float}});
    const auto padding = attention_bias(mask);
    const auto distances = e_.family == encoder_family::mpnet ? distance_bias() : std::string();
    for (uint32_t i = 0; i < e_.layers; ++i)
      x = layer(fmt::format("{}{}.", names_.layers, i), x, padding, distances);
    const auto out = e_.reranks() ? scores(x) : embedding(x, mask);
    graph_.outputs.push_back(out);
    return std::move(graph_);
  }

 private:
  static constexpr int64_t onnx_opset = 17, onnx_float = 1;

  // ---- nodes ----

  std::string node(const char* op, std::vector<std::string> inputs,
                   std::map<std::string, attribute, std::less<>> attributes = {}, std::string output = {}) {
    if (output.empty()) output = fmt::format("{}_{}", op, graph_.nodes.size());
    graph_.nodes.push_back({{}, op, std::move(inputs), {output}, std::move(attributes)});
    return output;
  }
  void add_inputs() {
    for (const auto* name : {"input_ids", "attention_mask", "token_type_ids"})
      graph_.inputs.push_back({name, data_type::int64, {-1, int64_t{tokens_}}});
    if (e_.types <= 1) graph_.inputs.pop_back();
  }
  std::string constant(const std::string& name, shape dims, std::span<const float> values) {
    graph_.constants.emplace(name,
                             onnx::make_tensor(data_type::fp32, std::move(dims), std::as_bytes(values)));
    return name;
  }
  std::string number(float value) {
    const auto name = fmt::format("number_{}", value);
    return graph_.constants.contains(name) ? name : constant(name, {}, {&value, 1});
  }
  std::string integers(const std::vector<int64_t>& values) {
    const auto name = fmt::format("integers_{}", graph_.constants.size());
    graph_.constants.emplace(name, onnx::make_ints(values));
    return name;
  }
  std::string reshaped(const std::string& x, const std::vector<int64_t>& dims) {
    return node("Reshape", {x, integers(dims)});
  }
  std::string transposed(const std::string& x, const std::vector<int64_t>& order) {
    return node("Transpose", {x}, {{"perm", order}});
  }

  // ---- weights ----

  numbers weight(const std::string& name, std::vector<uint64_t> dims) {
    return floats_of(files_.need(prefix_ + name, dims));
  }
  /// [out, in] as stored becomes [in, columns], in columns `first` and on.
  static void place(const numbers& from, size_t out, size_t in, numbers& to, size_t columns, size_t first,
                    float scale) {
    for (size_t o = 0; o < out; ++o)
      for (size_t i = 0; i < in; ++i) to[i * columns + first + o] = from[o * in + i] * scale;
  }
  struct dense_part {
    std::string name;
    float scale = 1;
  };
  /// x W + b, of several modules side by side.
  std::string dense(const std::string& x, const std::vector<dense_part>& parts, uint32_t out, uint32_t in) {
    const size_t columns = parts.size() * out;
    for (const auto& p : parts)
      files_.need(prefix_ + p.name + ".weight", {out, in});  // before memory is taken
    numbers w(columns * in), b;
    for (size_t p = 0; p < parts.size(); ++p) {
      place(weight(parts[p].name + ".weight", {out, in}), out, in, w, columns, p * out, parts[p].scale);
      for (const auto v : weight(parts[p].name + ".bias", {out})) b.push_back(v * parts[p].scale);
    }
    const auto& name = parts.front().name;
    const auto wide = static_cast<int64_t>(columns);
    const auto product = node("MatMul", {x, constant(name + ".weight", {in, wide}, w)});
    return node("Add", {product, constant(name + ".bias", {wide}, b)});
  }
  std::string normalised(const std::string& x, const std::string& name) {
    const auto part = [&](const char* now, const char* before) {
      const bool old = !files_.has(prefix_ + name + now) && files_.has(prefix_ + name + before);
      const auto full = name + (old ? before : now);
      return constant(full, {hidden_}, weight(full, {e_.hidden}));
    };
    const auto scale = part(".weight", ".gamma"), shift = part(".bias", ".beta");
    return node("LayerNormalization", {x, scale, shift},
                {{"axis", int64_t{-1}}, {"epsilon", e_.norm_epsilon}});
  }

  // ---- the model ----

  std::string embeddings() {
    const auto words = weight("embeddings.word_embeddings.weight", {e_.vocabulary, e_.hidden});
    auto x = node("Gather", {constant("words", {e_.vocabulary, hidden_}, words), "input_ids"});
    auto positions = weight("embeddings.position_embeddings.weight", {e_.positions, e_.hidden});
    if (e_.types > 0) {
      const auto types = weight("embeddings.token_type_embeddings.weight", {e_.types, e_.hidden});
      if (e_.types == 1)
        for (size_t i = 0; i < positions.size(); ++i) positions[i] += types[i % e_.hidden];
      else
        x = node("Add",
                 {x, node("Gather", {constant("types", {e_.types, hidden_}, types), "token_type_ids"})});
    }
    x = node("Add", {x, first_positions(constant("positions", {e_.positions, hidden_}, positions))});
    return normalised(x, "embeddings.LayerNorm");
  }

  /// [tokens, hidden], cut out when a plan is made: so the parameters are the same for all lengths.
  std::string first_positions(const std::string& table) {
    const auto first = integers({int64_t{e_.first_position}});
    return node("Slice", {table, first, node("Add", {length(), first}), integers({0})});
  }
  std::string length() { return node("Slice", {node("Shape", {"input_ids"}), integers({1}), integers({2})}); }

  /// [1, heads, tokens, tokens], cut out of those of the longest text, likewise.
  std::string distance_bias() {
    const auto table = weight("encoder.relative_attention_bias.weight", {relative_buckets, e_.heads});
    const int64_t most = e_.max_tokens;
    const auto all =
        constant("distances", {1, heads_, most, most}, relative_biases(table, e_.heads, e_.max_tokens));
    const auto end = node("Concat", {length(), length()}, {{"axis", int64_t{0}}});
    return node("Slice", {all, integers({0, 0}), end, integers({2, 3})});
  }

  /// [rows, 1, 1, tokens]: 0 for tokens, very negative for padding.
  std::string attention_bias(const std::string& mask) {
    const auto absent = node("Sub", {mask, number(1)});
    const auto bias = node("Mul", {absent, number(1e30F)});
    return reshaped(bias, {all_rows, 1, 1, tokens_});
  }

  /// `distances`: a bias of attention, or empty.
  std::string layer(const std::string& name, const std::string& x, const std::string& padding,
                    const std::string& distances) {
    const auto attended = attention(name, x, padding, distances);
    const auto out = dense(attended, {{name + names_.attended}}, e_.hidden, e_.hidden);
    const auto middle = normalised(node("Add", {out, x}), name + names_.attention_norm);
    const auto wide = activated(dense(middle, {{name + names_.wide}}, e_.intermediate, e_.hidden));
    const auto narrow = dense(wide, {{name + names_.narrow}}, e_.hidden, e_.intermediate);
    return normalised(node("Add", {narrow, middle}), name + names_.norm);
  }

  std::string attention(const std::string& name, const std::string& x, const std::string& padding,
                        const std::string& distances) {
    const float scale = 1 / std::sqrt(static_cast<float>(width_));
    const auto together = dense(x, {{name + names_.query, scale}, {name + names_.key}, {name + names_.value}},
                                e_.hidden, e_.hidden);
    graph_.nodes.push_back({{},
                            "Split",
                            {together, integers({hidden_, hidden_, hidden_})},
                            {name + "q", name + "k", name + "v"},
                            {{"axis", int64_t{2}}}});
    const auto by_head = [&](const char* part, const std::vector<int64_t>& order) {
      return transposed(reshaped(name + part, {all_rows, tokens_, heads_, width_}), order);
    };
    const auto q = by_head("q", {0, 2, 1, 3}), k = by_head("k", {0, 2, 3, 1}), v = by_head("v", {0, 2, 1, 3});
    auto product = node("MatMul", {q, k});
    if (!distances.empty()) product = node("Add", {product, distances});
    const auto weights = node("Softmax", {node("Add", {product, padding})}, {{"axis", int64_t{-1}}});
    return reshaped(transposed(node("MatMul", {weights, v}), {0, 2, 1, 3}), {all_rows, tokens_, hidden_});
  }

  std::string activated(const std::string& x) {
    if (e_.activation == "relu") return node("Relu", {x});
    if (e_.activation == "gelu") {
      const auto erf = node("Erf", {node("Div", {x, number(std::sqrt(2.0F))})});
      return node("Mul", {node("Mul", {x, node("Add", {erf, number(1)})}), number(0.5F)});
    }
    // ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))
    const auto cube = node("Mul", {node("Pow", {x, number(3)}), number(0.044715F)});
    const auto inner = node("Mul", {node("Add", {x, cube}), number(0.7978845608F)});
    const auto tanh = node("Tanh", {inner});
    return node("Mul", {node("Mul", {x, node("Add", {tanh, number(1)})}), number(0.5F)});
  }

  /// [rows, hidden]: the vector of the first token.
  std::string first_token(const std::string& x) {
    const auto at = node("Slice", {x, integers({0}), integers({1}), integers({1})});
    return reshaped(at, {all_rows, hidden_});
  }

  std::string embedding(const std::string& x, const std::string& mask) {
    const char* name = "sentence_embedding";
    std::string out;
    if (e_.pooling == encoder_pooling::cls) {
      out = first_token(x);
    } else {
      const auto row = reshaped(mask, {all_rows, 1, tokens_});
      const auto sum = node("MatMul", {row, x});
      const auto count = node("MatMul", {row, reshaped(mask, {all_rows, tokens_, 1})});  // of zeros and ones
      out = reshaped(node("Div", {sum, count}), {all_rows, hidden_});
    }
    if (!e_.normalise) return node("Identity", {out}, {}, name);
    const auto square =
        node("MatMul", {reshaped(out, {all_rows, 1, hidden_}), reshaped(out, {all_rows, hidden_, 1})});
    const auto length = node("Sqrt", {reshaped(square, {all_rows, 1})});
    return node("Div", {out, node("Add", {length, number(1e-12F)})}, {}, name);  // a zero vector stays one
  }

  std::string scores(const std::string& x) {
    auto pooled = first_token(x);
    const bool distil = e_.family == encoder_family::distilbert;
    const bool two = files_.has("classifier.dense.weight");  // the head of RoBERTa and MPNet
    const auto inner = distil ? std::string("pre_classifier")
                       : two  ? "classifier.dense"
                              : prefix_ + "pooler.dense";
    prefix_.clear();
    pooled = node(distil ? "Relu" : "Tanh", {dense(pooled, {{inner}}, e_.hidden, e_.hidden)});
    const auto out = dense(pooled, {{two ? "classifier.out_proj" : "classifier"}}, e_.labels, e_.hidden);
    return node("Identity", {out}, {}, "logits");
  }

  const encoder_config& e_;
  const encoder_names& names_;
  llm::tensor_files files_;
  std::string prefix_;
  const uint32_t tokens_;
  const int64_t heads_, hidden_, width_;
  onnx::graph graph_;
};

}  // namespace

onnx::graph encoder_graph(const encoder_config& e, uint32_t tokens) {
  return graph_builder(e, tokens).build();
}

}  // namespace troupe
