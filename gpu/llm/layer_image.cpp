#include "gpu/llm/layer_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/checkpoint/tensor_files.hpp"
#include "gpu/llm/row_major_image.hpp"

namespace troupe::llm {

/// The parts of an image in their order. Measures it, finds the parts in it, or collects their content.
class layer_images::parts {
 public:
  parts(const model_config& config, uint32_t layer)
      : shapes_(parameters_of(config, layer)), norm_offset_(config.norm_offset) {}

  /// Finds the parts in an image.
  void read(const std::byte* image) { image_ = image; }
  /// Collects their content.
  void collect(const layer_view& from, layer_content& to) { from_ = &from, to_ = &to; }
  uint64_t bytes() const { return end_; }

  std::span<const float> norm(std::string_view name) {
    const auto count = shape_of(name)->shape[0];
    const auto at = take(count * sizeof(float));
    if (to_ != nullptr) {
      auto numbers = floats_of(view(name));
      if (norm_offset_ != 0)
        for (auto& n : numbers) n += norm_offset_;
      to_->add(at, std::move(numbers));
    }
    return floats(at, count);
  }

  linear projections(std::initializer_list<std::string_view> modules, element type) {
    std::vector<const parameter_shape*> weights;
    size_t out = 0;
    bool biased = false;
    for (const auto m : modules) {
      weights.push_back(shape_of(std::string(m) + ".weight"));
      out += weights.back()->shape[0];
      biased = biased || shape_of(std::string(m) + ".bias") != nullptr;
    }
    const size_t in = weights[0]->shape[1];
    const auto at = take(kernels::packed_weights(nullptr, type, out, in).bytes());
    if (to_ != nullptr) {
      std::vector<kernels::weight_rows> rows;
      for (const auto* w : weights) {
        const auto& v = view(w->name);
        rows.push_back({v.bytes.data(), v.type, w->shape[0]});
      }
      to_->add(at, kernels::weight_blocks(std::move(rows), type, in));
    }
    linear l;
    l.weights = {image_ == nullptr ? nullptr : image_ + at, type, out, in};
    if (biased) l.bias = biases(modules, out);
    return l;
  }

  weight_view table(std::string_view name, element type) {
    weight_view v{type, shape_of(name)->shape, {}};
    const auto size = v.shape[0] * v.shape[1] * element_bytes(type);
    const auto at = take(size);
    if (to_ != nullptr) {
      assert(view(name).type == type);
      to_->add(at, view(name).bytes.first(size));
    }
    if (image_ != nullptr) v.bytes = {image_ + at, size};
    return v;
  }

 private:
  const parameter_shape* shape_of(std::string_view name) const {
    const auto at = std::find_if(shapes_.begin(), shapes_.end(),
                                 [&](const parameter_shape& s) { return s.name == name; });
    return at == shapes_.end() ? nullptr : &*at;
  }
  const weight_view& view(std::string_view name) const {
    const auto* found = from_->find(name);
    assert(found != nullptr);
    return *found;
  }
  /// The place of the next part.
  size_t take(size_t bytes) {
    const size_t at = (end_ + image_alignment - 1) / image_alignment * image_alignment;
    end_ = at + bytes;
    return at;
  }
  std::span<const float> floats(size_t at, size_t count) const {
    if (image_ == nullptr) return {};
    return {reinterpret_cast<const float*>(image_ + at), count};
  }
  /// Zeros for a projection without bias.
  std::span<const float> biases(std::initializer_list<std::string_view> modules, size_t out) {
    const auto at = take(out * sizeof(float));
    if (to_ == nullptr) return floats(at, out);
    std::vector<float> numbers;
    for (const auto m : modules) {
      const auto name = std::string(m) + ".bias";
      const auto own = shape_of(name) != nullptr ? floats_of(view(name)) : std::vector<float>();
      numbers.insert(numbers.end(), own.begin(), own.end());
      numbers.resize(numbers.size() + shape_of(std::string(m) + ".weight")->shape[0] - own.size());
    }
    to_->add(at, std::move(numbers));
    return {};
  }

  const std::vector<parameter_shape> shapes_;
  const float norm_offset_;
  const layer_view* from_ = nullptr;  // with to_; null: nothing is collected
  layer_content* to_ = nullptr;
  const std::byte* image_ = nullptr;  // null: only measures
  size_t end_ = 0;
};

void layer_images::describe(parts& p, embedding_layer& l) const {
  l.table = p.table("embed_tokens.weight", format_.table);
  if (config_.tied_embeddings) l.head = p.projections({"embed_tokens"}, format_.weights);
}

void layer_images::describe(parts& p, decoder_layer& l) const {
  const auto type = format_.weights;
  l.input_norm = p.norm("input_layernorm.weight");
  if (config_.output_norms) {
    l.attended_norm = p.norm("post_attention_layernorm.weight");
    l.post_norm = p.norm("pre_feedforward_layernorm.weight");
    l.fed_norm = p.norm("post_feedforward_layernorm.weight");
  } else {
    l.post_norm = p.norm("post_attention_layernorm.weight");
  }
  if (config_.head_norms) {
    l.query_norm = p.norm("self_attn.q_norm.weight");
    l.key_norm = p.norm("self_attn.k_norm.weight");
  }
  l.qkv = p.projections({"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, type);
  l.o = p.projections({"self_attn.o_proj"}, type);
  if (config_.experts.count == 0) {
    l.gate_up = p.projections({"mlp.gate_proj", "mlp.up_proj"}, type);
    l.down = p.projections({"mlp.down_proj"}, type);
    return;
  }
  l.experts.router = p.projections({"mlp.gate"}, element::f32);
  for (uint32_t e = 0; e < config_.experts.count; ++e) {
    const auto of = [e](std::string_view name) { return fmt::format("mlp.experts.{}.{}", e, name); };
    auto gate_up = p.projections({of("gate_proj"), of("up_proj")}, type);
    l.experts.experts.push_back({std::move(gate_up), p.projections({of("down_proj")}, type)});
  }
}

void layer_images::describe(parts& p, final_layer& l) const {
  l.norm = p.norm("norm.weight");
  if (!config_.tied_embeddings) l.head = p.projections({"lm_head"}, format_.weights);
}

void layer_images::describe_any(parts& p, uint32_t layer) const {
  const auto as = [&](auto l) { describe(p, l); };
  if (layer == 0) return as(embedding_layer());
  if (layer <= config_.layers) return as(decoder_layer());
  as(final_layer());
}

uint64_t layer_images::bytes(uint32_t layer) const {
  if (format_.layout == image_layout::row_major)
    return row_major_image(parameters_of(config_, layer), format_.weights).bytes();
  parts p(config_, layer);
  describe_any(p, layer);
  return p.bytes();
}

layer_content layer_images::content(uint32_t layer, const layer_view& from) const {
  if (format_.layout == image_layout::row_major)
    return row_major_image(parameters_of(config_, layer), format_.weights).content(from);
  layer_content out;
  parts p(config_, layer);
  p.collect(from, out);
  describe_any(p, layer);
  return out;
}

void layer_images::write(uint32_t layer, const layer_view& from, std::span<std::byte> to) const {
  assert(bytes(layer) == to.size());
  content(layer, from).write(to);
}

embedding_layer layer_images::embedding(const std::byte* image) const {
  parts p(config_, 0);
  p.read(image);
  embedding_layer l;
  describe(p, l);
  return l;
}

decoder_layer layer_images::layer(uint32_t layer, const std::byte* image) const {
  parts p(config_, layer);
  p.read(image);
  decoder_layer l;
  describe(p, l);
  return l;
}

final_layer layer_images::last(const std::byte* image) const {
  parts p(config_, config_.layers + 1);
  p.read(image);
  final_layer l;
  describe(p, l);
  return l;
}

}  // namespace troupe::llm
