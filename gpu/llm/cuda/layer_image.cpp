#include "gpu/llm/cuda/layer_image.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace troupe::cuda {

using llm::adapter_weights;
using llm::layer_parameters;

layer_image::layer_image(const layer_parameters& layer, element type)
    : input_norm_(add(layer, {"input_layernorm"}, ".weight", type)),
      post_norm_(add(layer, {"post_attention_layernorm"}, ".weight", type)),
      qkv_(add(layer, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, ".weight", type)),
      qkv_bias_(add(layer, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, ".bias", type)),
      o_(add(layer, {"self_attn.o_proj"}, ".weight", type)),
      o_bias_(add(layer, {"self_attn.o_proj"}, ".bias", type)),
      gate_up_(add(layer, {"mlp.gate_proj", "mlp.up_proj"}, ".weight", type)),
      gate_up_bias_(add(layer, {"mlp.gate_proj", "mlp.up_proj"}, ".bias", type)),
      down_(add(layer, {"mlp.down_proj"}, ".weight", type)),
      down_bias_(add(layer, {"mlp.down_proj"}, ".bias", type)),
      embedding_(add(layer, {"embed_tokens"}, ".weight", type)),
      final_norm_(add(layer, {"norm"}, ".weight", type)),
      head_(add(layer, {"lm_head"}, ".weight", type)) {}

/// Appends parameters, one after the other. Returns their offset, or `nowhere` if the layer has none of them.
size_t layer_image::add(const layer_parameters& layer, std::initializer_list<std::string_view> names,
                        std::string_view suffix, element type) {
  const size_t begin = round_up<size_t>(bytes_.size(), 256);
  bool any = false;
  for (const std::string_view name : names) any |= layer.find(std::string(name).append(suffix)) != nullptr;
  if (!any) return nowhere;
  bytes_.resize(begin);
  for (const std::string_view name : names) {
    const llm::parameter* found = layer.find(std::string(name).append(suffix));
    const size_t at = bytes_.size();
    if (found == nullptr) {  // no bias, but others have one: zeros
      const llm::parameter* weight = layer.find(std::string(name) + ".weight");
      bytes_.resize(at + weight->shape[0] * element_bytes(type), std::byte{0});
      continue;
    }
    const llm::weight_view view = layer.view(*found);
    const size_t numbers = view.bytes.size() / element_bytes(view.type);
    bytes_.resize(at + numbers * element_bytes(type));
    if (view.type == type) {
      std::memcpy(bytes_.data() + at, view.bytes.data(), view.bytes.size());
    } else {
      for (size_t i = 0; i < numbers; ++i)
        set_element(bytes_.data() + at, type, i, element_at(view.bytes.data(), view.type, i));
    }
  }
  return begin;
}

layer_pointers layer_image::at(const std::byte* base) const {
  return {
      place(base, input_norm_), place(base, post_norm_), place(base, qkv_),     place(base, qkv_bias_),
      place(base, o_),          place(base, o_bias_),    place(base, gate_up_), place(base, gate_up_bias_),
      place(base, down_),       place(base, down_bias_)};
}

adapter_image::adapter_image(const adapter_weights& adapter, const llm::model_config& model) {
  size_t size = 0;
  const auto room = [&size](size_t bytes) {
    const size_t at = size;
    size = round_up<size_t>(size + bytes, 256);
    return at;
  };
  const size_t count = size_t{model.layers} * llm::projection_count;
  const auto which = [](size_t i) { return static_cast<llm::projection>(i % llm::projection_count); };
  for (size_t i = 0; i < count; ++i) {
    const kernels::lora_weights& w = adapter.parts()[i];
    part& p = parts_.emplace_back();
    if (!w.adapts()) continue;
    p.ranks = lora_ranks(w.rank), p.scale = w.scale;
    p.a = room(packed_a_bytes(w.rank, model.in_of(which(i)))),
    p.b = room(packed_b_bytes(w.rank, model.out_of(which(i))));
    max_ranks_ = std::max(max_ranks_, p.ranks);
  }
  bytes_.resize(size);
  for (size_t i = 0; i < count; ++i) {
    const kernels::lora_weights& w = adapter.parts()[i];
    if (!w.adapts()) continue;
    const auto to = [this](size_t offset) { return reinterpret_cast<uint16_t*>(bytes_.data() + offset); };
    pack_lora_a(static_cast<const uint16_t*>(w.a), w.rank, model.in_of(which(i)), to(parts_[i].a));
    pack_lora_b(static_cast<const uint16_t*>(w.b), w.rank, model.out_of(which(i)), to(parts_[i].b));
  }
}

std::vector<lora_matrices> adapter_image::at(const std::byte* base) const {
  std::vector<lora_matrices> all;
  for (const part& p : parts_)
    all.push_back(p.ranks == 0 ? lora_matrices{} : lora_matrices{base + p.a, base + p.b, p.ranks, p.scale});
  return all;
}

}  // namespace troupe::cuda
