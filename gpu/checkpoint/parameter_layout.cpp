#include "gpu/checkpoint/parameter_layout.hpp"

#include <fmt/format.h>

#include <utility>

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

/// "experts.3.gate_proj.weight" as Mixtral names it: "experts.3.w1.weight".
std::string named_by_w(std::string_view name) {
  std::string out(name);
  for (const auto& [p, w] : {std::pair{projection::gate, "w1"}, std::pair{projection::down, "w2"},
                             std::pair{projection::up, "w3"}}) {
    const auto at = out.find(name_of(p));
    if (at != std::string::npos) out.replace(at, name_of(p).size(), w);
  }
  return out;
}

}  // namespace

std::string module_of(projection p) {
  return fmt::format("{}.{}", p <= projection::o ? "self_attn" : "mlp", name_of(p));
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
  if (config.head_norms) {
    out.push_back({"self_attn.q_norm.weight", {config.head_dim}});
    out.push_back({"self_attn.k_norm.weight", {config.head_dim}});
  }
  out.push_back({"post_attention_layernorm.weight", {config.hidden}});
  if (config.output_norms) {
    out.push_back({"pre_feedforward_layernorm.weight", {config.hidden}});
    out.push_back({"post_feedforward_layernorm.weight", {config.hidden}});
  }
  if (config.experts.count == 0) {
    add_projections(config, projection::gate, projection::down, out);
    return out;
  }
  out.push_back({"mlp.gate.weight", {config.experts.count, config.hidden}});
  for (uint32_t e = 0; e < config.experts.count; ++e) {
    for (const auto p : {projection::gate, projection::up, projection::down})
      out.push_back(
          {fmt::format("mlp.experts.{}.{}.weight", e, name_of(p)), {config.out_of(p), config.in_of(p)}});
  }
  return out;
}

std::vector<projection_module> modules_of(const model_config& config) {
  if (config.fused_projections) {
    return {{"self_attn.qkv_proj", {projection::q, projection::k, projection::v}},
            {"self_attn.o_proj", {projection::o}},
            {"mlp.gate_up_proj", {projection::gate, projection::up}},
            {"mlp.down_proj", {projection::down}}};
  }
  std::vector<projection_module> out;
  const auto last = config.experts.count > 0 ? projection::o : projection::down;
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    const auto p = static_cast<projection>(i);
    out.push_back({module_of(p), {p}});
  }
  return out;
}

stored_rows place_of(const model_config& config, uint32_t layer, const parameter_shape& parameter) {
  const std::string_view name = parameter.name;
  if (layer == 0 || layer > config.layers)
    return {fmt::format("{}{}", name.starts_with("lm_head.") ? "" : "model.", name), parameter.shape};
  stored_rows place{fmt::format("model.layers.{}.{}", layer - 1, name), parameter.shape};
  if (config.experts.named_w && name.starts_with("mlp."))
    place.tensor = fmt::format("model.layers.{}.block_sparse_moe.{}", layer - 1, named_by_w(name.substr(4)));
  if (!config.fused_projections) return place;
  for (const auto& module : modules_of(config)) {
    uint64_t rows = 0;
    bool holds = false;
    for (const auto p : module.projections) {
      const auto own = module_of(p) + ".";
      if (name.starts_with(own)) {
        holds = true;
        place.first = rows;
        place.tensor = fmt::format("model.layers.{}.{}.{}", layer - 1, module.name, name.substr(own.size()));
      }
      rows += config.out_of(p);
    }
    if (holds) place.shape[0] = rows;
  }
  return place;
}

}  // namespace troupe::llm
