#include "gpu/llm/decoder_layer.hpp"

#include <cassert>
#include <span>
#include <string>

namespace troupe::llm {

kernels::dense_args linear::args(const float* x, float* y, size_t rows) const {
  return {.x = x,
          .x_stride = weights.in(),
          .w = &weights,
          .bias = bias.empty() ? nullptr : bias.data(),
          .y = y,
          .y_stride = weights.out(),
          .rows = rows};
}

std::vector<float> floats_of(const weight_view& w) {
  std::vector<float> out(w.bytes.size() / element_bytes(w.type));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element_at(w.bytes.data(), w.type, i);
  return out;
}

std::vector<float> floats_of(const layer_parameters& p, std::string_view name) {
  const auto* found = p.find(name);
  return found == nullptr ? std::vector<float>{} : floats_of(p.view(*found));
}

linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type) {
  std::vector<weight_view> parts;
  linear l;
  size_t out = 0;
  bool alike = true, biased = false;
  for (const auto name : names) {
    const auto* weight = p.find(std::string(name) + ".weight");
    assert(weight != nullptr && weight->shape.size() == 2);
    const auto& part = parts.emplace_back(p.view(*weight));
    assert(part.shape[1] == parts.front().shape[1]);
    alike = alike && part.type == parts.front().type;
    out += part.shape[0];
    const auto bias = floats_of(p, std::string(name) + ".bias");
    biased = biased || !bias.empty();
    l.bias.insert(l.bias.end(), bias.begin(), bias.end());
    l.bias.resize(out);  // zeros for a projection without bias
  }
  if (!biased) l.bias.clear();

  if (parts.size() == 1) {
    l.weights = {parts[0].bytes.data(), parts[0].type, type, out, parts[0].shape[1]};
    return l;
  }
  // Checkpoints may store the projections as different types. They are then joined as floats.
  std::vector<std::byte> together;
  for (const auto& part : parts) {
    if (alike) {
      together.insert(together.end(), part.bytes.begin(), part.bytes.end());
    } else {
      const auto numbers = floats_of(part);
      const auto bytes = std::as_bytes(std::span{numbers});
      together.insert(together.end(), bytes.begin(), bytes.end());
    }
  }
  l.weights = {together.data(), alike ? parts[0].type : element::f32, type, out, parts[0].shape[1]};
  return l;
}

std::vector<float> norm_of(const layer_parameters& p, const model_config& config, std::string_view name) {
  auto weights = floats_of(p, name);
  if (config.norm_offset != 0)
    for (float& w : weights) w += config.norm_offset;
  return weights;
}

decoder_layer pack_layer(const layer_parameters& p, const model_config& config, element type) {
  const auto norm = [&](std::string_view name) { return norm_of(p, config, name); };
  decoder_layer l;
  l.input_norm = norm("input_layernorm.weight");
  if (config.output_norms) {
    l.attended_norm = norm("post_attention_layernorm.weight");
    l.post_norm = norm("pre_feedforward_layernorm.weight");
    l.fed_norm = norm("post_feedforward_layernorm.weight");
  } else {
    l.post_norm = norm("post_attention_layernorm.weight");
  }
  if (config.head_norms) {
    l.query_norm = norm("self_attn.q_norm.weight");
    l.key_norm = norm("self_attn.k_norm.weight");
  }
  l.qkv = pack_linear(p, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, type);
  l.o = pack_linear(p, {"self_attn.o_proj"}, type);
  l.gate_up = pack_linear(p, {"mlp.gate_proj", "mlp.up_proj"}, type);
  l.down = pack_linear(p, {"mlp.down_proj"}, type);
  return l;
}

}  // namespace troupe::llm
