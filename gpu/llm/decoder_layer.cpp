#include "gpu/llm/decoder_layer.hpp"

namespace troupe::llm {

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
  if (config.experts.count > 0) {
    l.experts = pack_experts(p, config, type);
    return l;
  }
  l.gate_up = pack_linear(p, {"mlp.gate_proj", "mlp.up_proj"}, type);
  l.down = pack_linear(p, {"mlp.down_proj"}, type);
  return l;
}

}  // namespace troupe::llm
