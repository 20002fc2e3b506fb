// Qwen3-MoE: Qwen3 with experts in all layers, of the width `moe_intermediate_size`; a window in all layers
// if `use_sliding_window` says so.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/experts.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void refuse_dense_layers(const json_object& config) {
  if (config.integer("decoder_sparse_step", 1, 1024, 1) != 1)
    config.fail("decoder_sparse_step", "must be 1: models with dense layers between are not supported");
  if (!config.lacks("mlp_only_layers") && !config.at("mlp_only_layers").empty())
    config.fail("mlp_only_layers", "must be empty: models with dense layers between are not supported");
}

void read_qwen3_moe(const json_object& config, model_config& m) {
  constexpr uint32_t default_width = 4096, default_intermediate = 768;
  require_silu(config);
  refuse_dense_layers(config);
  m.experts = read_experts(config, 128, 8);
  m.experts.normalised = config.flag("norm_topk_prob", false);
  m.intermediate =
      static_cast<uint32_t>(config.integer("moe_intermediate_size", 1, 1 << 20, default_intermediate));
  m.head_norms = true;
  m.qkv_bias = m.o_bias = config.flag("attention_bias", false);
  if (config.flag("use_sliding_window", false))
    m.window.assign(m.layers, read_window_width(config, default_width));
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family qwen3_moe_family{
    .name = "qwen3_moe", .kv_heads = 4, .bos = std::nullopt, .eos = std::nullopt, .read = read_qwen3_moe};

}  // namespace troupe::llm
