#include "gpu/onnx/encoder_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/model_proto.hpp"

namespace troupe::onnx {
namespace {

namespace proto = ::onnx;

constexpr float smallest_length = 1e-12F;  // a zero vector stays one
constexpr std::array<std::string_view, 3> inputs_of_texts{"input_ids", "attention_mask", "token_type_ids"};

bool has_shape(const proto::ValueInfoProto& v) { return v.type().tensor_type().has_shape(); }
int rank_of(const proto::ValueInfoProto& v) { return v.type().tensor_type().shape().dim_size(); }

/// "text x 128 x ?", or "of unknown shape".
std::string shape_text(const proto::ValueInfoProto& v) {
  if (!has_shape(v)) return "no declared shape";
  std::vector<std::string> dims;
  for (const auto& d : v.type().tensor_type().shape().dim())
    dims.push_back(d.has_dim_value() ? std::to_string(d.dim_value()) : "?");
  return fmt::format("the shape [{}]", fmt::join(dims, ", "));
}

class encoder_writer {
 public:
  explicit encoder_writer(const encoder_file& file)
      : file_(file), model_(read_model_proto(file.path)), graph_(*model_.mutable_graph()) {
    check_inputs();
    choose_output();
  }

  uint32_t declared_width() const {
    if (!has_shape(output_)) return 0;
    const auto& last = *output_.type().tensor_type().shape().dim().rbegin();
    return last.dim_value() > 0 && last.dim_value() < INT32_MAX ? static_cast<uint32_t>(last.dim_value()) : 0;
  }

  proto::ModelProto write(uint32_t tokens) {
    tokens_ = tokens;
    for (auto* v : text_inputs_) fix_length(*v);
    graph_.clear_value_info();  // of other lengths
    auto x = output_.name();
    if (output_.type().tensor_type().elem_type() != proto::TensorProto::FLOAT) x = cast(x);
    if (file_.head != encoder_head::scores) x = embedding(x);
    graph_.clear_output();
    auto& out = *graph_.add_output();
    out.set_name(x);
    out.mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::FLOAT);
    return std::move(model_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw unreadable_model(
        fmt::format("{}: {}", file_.path.string(), fmt::format(format, std::forward<Args>(args)...)));
  }

  // ---- inputs ----

  void check_inputs() {
    for (auto& i : *graph_.mutable_input()) {
      const auto initialised =
          std::ranges::any_of(graph_.initializer(), [&](const auto& t) { return t.name() == i.name(); });
      if (!initialised) check_input(i);
    }
    for (const auto* name : {"input_ids", "attention_mask"})
      if (std::ranges::none_of(text_inputs_, [&](const auto* i) { return i->name() == name; }))
        fail(
            "has no input '{}': an encoder has input_ids and attention_mask, and perhaps token_type_ids; "
            "export it with these names",
            name);
  }
  void check_input(proto::ValueInfoProto& i) {
    if (std::ranges::count(inputs_of_texts, i.name()) == 0)
      fail(
          "has the input '{}', which no text gives: an encoder has input_ids and attention_mask, and perhaps "
          "token_type_ids; export it with these alone, or give the path of the file itself",
          i.name());
    const auto type = i.type().tensor_type().elem_type();
    if (type != proto::TensorProto::INT64 && type != proto::TensorProto::INT32)
      fail("input '{}' has the element type {}: export it as INT64 or INT32", i.name(), type);
    if (!has_shape(i) || rank_of(i) != 2)
      fail("input '{}' has {}: export it as [texts, tokens]", i.name(), shape_text(i));
    if (i.type().tensor_type().shape().dim(0).has_dim_value())
      fail("input '{}' has {}: export it with a dynamic number of texts", i.name(), shape_text(i));
    text_inputs_.push_back(&i);
  }
  void fix_length(proto::ValueInfoProto& i) const {
    auto& length = *i.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1);
    if (length.has_dim_value() && length.dim_value() != tokens_)
      fail(
          "input '{0}' is for texts of exactly {1} tokens, not {2}: set lengths = [{1}] in the cluster file, "
          "or export it with a dynamic number of tokens",
          i.name(), length.dim_value(), tokens_);
    length.set_dim_value(tokens_);
  }

  // ---- the output ----

  const proto::ValueInfoProto* output(std::string_view name) const {
    for (const auto& o : graph_.output())
      if (o.name() == name) return &o;
    return nullptr;
  }
  const proto::ValueInfoProto* only_output(int rank) const {
    const proto::ValueInfoProto* found = nullptr;
    for (const auto& o : graph_.output()) {
      if (!has_shape(o) || rank_of(o) != rank) continue;
      if (std::exchange(found, &o) != nullptr) return nullptr;
    }
    return found;
  }
  static bool has_rank(const proto::ValueInfoProto* o, int rank) {
    return o != nullptr && (!has_shape(*o) || rank_of(*o) == rank);
  }
  std::string outputs() const {
    std::vector<std::string> out;
    for (const auto& o : graph_.output()) out.push_back(fmt::format("'{}' with {}", o.name(), shape_text(o)));
    return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
  }

  void choose_output() {
    const auto* o = file_.head == encoder_head::scores ? output_of_scores() : output_of_embeddings();
    if (o != nullptr) {
      output_ = *o;
    } else if (file_.head == encoder_head::scores) {
      fail(
          "has no output 'logits' [texts, labels], and config.json names a ForSequenceClassification; its "
          "outputs: {}",
          outputs());
    } else if (has_rank(output("logits"), 2)) {
      fail(
          "has scores ('logits'), and no config.json says so: name its class in it, as in "
          "{{\"architectures\": [\"BertForSequenceClassification\"]}}");
    } else {
      fail(
          "has no output for embeddings: sentence_embedding [texts, width] or last_hidden_state [texts, "
          "tokens, width]; its outputs: {}; give the path of the file itself to serve it as a tensor model",
          outputs());
    }
  }
  const proto::ValueInfoProto* output_of_scores() const {
    if (const auto* o = output("logits"); o != nullptr) return has_rank(o, 2) ? o : nullptr;
    return graph_.output_size() == 1 ? only_output(2) : nullptr;
  }
  const proto::ValueInfoProto* output_of_embeddings() {
    if (const auto* o = output("sentence_embedding"); has_rank(o, 2)) return o;
    tokens_are_apart_ = true;
    for (const auto* name : {"last_hidden_state", "token_embeddings"})
      if (const auto* o = output(name); has_rank(o, 3)) return o;
    if (output("logits") != nullptr) return nullptr;  // of tokens
    if (const auto* o = only_output(3); o != nullptr) return o;
    tokens_are_apart_ = false;
    return graph_.output_size() == 1 ? only_output(2) : nullptr;
  }

  // ---- nodes: their forms are those of all opsets from 10 ----

  std::string node(const char* op, const std::vector<std::string>& inputs, std::string name = {}) {
    auto& n = *graph_.add_node();
    n.set_op_type(op);
    for (const auto& i : inputs) n.add_input(i);
    if (name.empty()) name = fmt::format("troupe_{}_{}", op, graph_.node_size());
    n.add_output(name);
    return name;
  }
  proto::AttributeProto& attribute(const char* name, proto::AttributeProto::AttributeType type) {
    auto& a = *graph_.mutable_node()->rbegin()->add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }
  std::string integers(const std::vector<int64_t>& values) {
    auto out = node("Constant", {});
    auto& t = *attribute("value", proto::AttributeProto::TENSOR).mutable_t();
    t.set_data_type(proto::TensorProto::INT64);
    t.add_dims(static_cast<int64_t>(values.size()));
    for (const auto v : values) t.add_int64_data(v);
    return out;
  }
  std::string number(float value) {
    auto out = node("Constant", {});
    auto& t = *attribute("value", proto::AttributeProto::TENSOR).mutable_t();
    t.set_data_type(proto::TensorProto::FLOAT);
    t.add_float_data(value);
    return out;
  }
  std::string cast(const std::string& x) {
    auto out = node("Cast", {x});
    attribute("to", proto::AttributeProto::INT).set_i(proto::TensorProto::FLOAT);
    return out;
  }
  std::string reshaped(const std::string& x, const std::vector<int64_t>& dims, std::string name = {}) {
    const auto shape = integers(dims);
    return node("Reshape", {x, shape}, std::move(name));
  }

  /// [texts, 1, width] of [texts, tokens, width].
  std::string pooled(const std::string& x) {
    if (file_.head == encoder_head::cls) {
      const auto first = integers({0}), second = integers({1}), axis = integers({1});
      return node("Slice", {x, first, second, axis});
    }
    const auto mask = cast("attention_mask");
    const auto row = reshaped(mask, {0, 1, tokens_}), column = reshaped(mask, {0, tokens_, 1});
    const auto sum = node("MatMul", {row, x}), count = node("MatMul", {row, column});
    return node("Div", {sum, count});
  }
  std::string normalised(const std::string& x) {  // [texts, 1, width]
    const auto column = node("Transpose", {x});
    auto& order = attribute("perm", proto::AttributeProto::INTS);
    for (const int64_t axis : {0, 2, 1}) order.add_ints(axis);
    const auto length = node("Sqrt", {node("MatMul", {x, column})});
    return node("Div", {x, node("Add", {length, number(smallest_length)})});
  }
  std::string embedding(std::string x) {
    if (!tokens_are_apart_ && !file_.normalise) return x;
    x = tokens_are_apart_ ? pooled(x) : reshaped(x, {0, 1, -1});
    if (file_.normalise) x = normalised(x);
    const bool taken = std::ranges::any_of(graph_.node(), [](const auto& n) {
      return std::ranges::count(n.output(), std::string_view("sentence_embedding")) > 0;
    });
    return reshaped(x, {0, -1}, taken ? "normalised_embedding" : "sentence_embedding");
  }

  const encoder_file& file_;
  proto::ModelProto model_;
  proto::GraphProto& graph_;
  std::vector<proto::ValueInfoProto*> text_inputs_;
  proto::ValueInfoProto output_;   // a copy: the list of outputs is rewritten
  bool tokens_are_apart_ = false;  // the output has three dimensions
  int64_t tokens_ = 0;
};

}  // namespace

graph load_encoder(const encoder_file& file, uint32_t tokens) {
  return graph_of(encoder_writer(file).write(tokens), file.path.string());
}

std::string encoder_content(const encoder_file& file, uint32_t tokens) {
  std::string out;
  if (!encoder_writer(file).write(tokens).SerializeToString(&out))
    throw unreadable_model(fmt::format("{}: is larger than 2 GiB", file.path.string()));
  return out;
}

uint32_t declared_width(const encoder_file& file) { return encoder_writer(file).declared_width(); }

}  // namespace troupe::onnx
