// Mixtral: Mistral with experts, whose weights add up to 1; a window only if `sliding_window` gives one.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/experts.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_mixtral(const json_object& config, model_config& m) {
  require_silu(config);
  m.experts = read_experts(config, 8, 2);
  m.experts.named_w = true;
  m.window.assign(m.layers, read_window_width(config, 0));
  m.rope =
      read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions, .theta = 1e6});
}

}  // namespace

const model_family mixtral_family{
    .name = "mixtral", .kv_heads = 8, .norm_epsilon = 1e-5, .read = read_mixtral};

}  // namespace troupe::llm
