#include "gpu/checkpoint/parameter_layout.hpp"

#include <fmt/format.h>

namespace troupe::llm {

namespace {

bool has_bias(const model_config& config, projection p) {
  if (p == projection::o) return config.o_bias;
  return p < projection::o ? config.qkv_bias : config.mlp_bias;
}

void add_projections(const model_config& config, projection first, projection last,
                     std::vector<parameter_shape>& out) {
  for (auto i = static_cast<size_t>(first); i <= static_cast<size_t>(last); ++i) {
    const auto p = static_cast<projection>(i);
    out.push_back({module_of(p) + ".weight", {config.out_of(p), config.in_of(p)}});
    if (has_bias(config, p)) out.push_back({module_of(p) + ".bias", {config.out_of(p)}});
  }
}

}  // namespace

std::string module_of(projection p) {
  return fmt::format("{}.{}", p <= projection::o ? "self_attn" : "mlp", name_of(p));
}

std::string prefix_of(const model_config& config, uint32_t layer, std::string_view parameter) {
  if (layer >= 1 && layer <= config.layers) return fmt::format("model.layers.{}.", layer - 1);
  return parameter.starts_with("lm_head.") ? "" : "model.";
}

std::vector<parameter_shape> parameters_of(const model_config& config, uint32_t layer) {
  if (layer == 0) return {{"embed_tokens.weight", {config.vocabulary, config.hidden}}};
  if (layer > config.layers) {
    std::vector<parameter_shape> last{{"norm.weight", {config.hidden}}};
    if (!config.tied_embeddings) last.push_back({"lm_head.weight", {config.vocabulary, config.hidden}});
    return last;
  }
  std::vector<parameter_shape> out{{"input_layernorm.weight", {config.hidden}}};
  add_projections(config, projection::q, projection::o, out);
  out.push_back({"post_attention_layernorm.weight", {config.hidden}});
  add_projections(config, projection::gate, projection::down, out);
  return out;
}

}  // namespace troupe::llm
