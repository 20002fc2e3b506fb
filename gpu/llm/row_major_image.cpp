#include "gpu/llm/row_major_image.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace troupe::llm {
namespace {

uint64_t numbers_of(const std::vector<uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
}

}  // namespace

std::vector<parameter_shape> shapes_of(const layer_parameters& layer) {
  std::vector<parameter_shape> out;
  for (const auto& p : layer.parameters) out.push_back({p.name, p.shape});
  return out;
}

row_major_image::row_major_image(std::span<const parameter_shape> layer, element type) : type_(type) {
  const auto add_biased = [&](part which, std::initializer_list<std::string_view> modules) {
    add(layer, which, modules, ".weight");
    add(layer, static_cast<part>(which + 1), modules, ".bias");
  };
  add(layer, input_norm, {"input_layernorm"}, ".weight");
  add(layer, post_norm, {"post_attention_layernorm"}, ".weight");
  add_biased(qkv, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"});
  add_biased(o, {"self_attn.o_proj"});
  add_biased(gate_up, {"mlp.gate_proj", "mlp.up_proj"});
  add_biased(down, {"mlp.down_proj"});
  add(layer, embedding, {"embed_tokens"}, ".weight");
  add(layer, final_norm, {"norm"}, ".weight");
  add(layer, head, {"lm_head"}, ".weight");
}

/// Places the parameters of a part, one after the other. If only some modules have a bias, there are zeros
/// for the others.
void row_major_image::add(std::span<const parameter_shape> layer, part which,
                          std::initializer_list<std::string_view> modules, std::string_view suffix) {
  const auto find = [&](std::string_view module, std::string_view kind) {
    return std::ranges::find(layer, std::string(module).append(kind), &parameter_shape::name);
  };
  const uint64_t begin = (bytes_ + alignment - 1) / alignment * alignment;
  uint64_t end = begin;
  places_[which] = nowhere;
  for (const auto module : modules) {
    const auto weight = find(module, ".weight"), own = find(module, suffix);
    if (weight == layer.end()) return;
    if (own != layer.end()) {
      places_[which] = begin;
      parameters_.push_back({own->name, end});
    }
    end += (own != layer.end() ? numbers_of(own->shape) : weight->shape[0]) * element_bytes(type_);
  }
  if (places_[which] != nowhere) bytes_ = end;
}

layer_content row_major_image::content(const layer_view& from) const {
  layer_content out;
  for (const auto& p : parameters_) out.add(p.offset, *from.find(p.parameter), type_);
  return out;
}

}  // namespace troupe::llm
