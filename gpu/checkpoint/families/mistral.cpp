// Mistral: a sliding window in every layer.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_mistral(const json_object& config, model_config& m) {
  constexpr uint32_t default_width = 4096;
  require_silu(config);
  m.window.assign(m.layers, read_window_width(config, default_width));
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family mistral_family{.name = "mistral", .kv_heads = 8, .read = read_mistral};

}  // namespace troupe::llm
