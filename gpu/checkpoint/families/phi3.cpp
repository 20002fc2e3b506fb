// Phi-3, Phi-3.5 and Phi-4: one tensor holds queries, keys and values, and one the gate and up projections; a
// window in every layer or in none; the rotary embedding may turn a part of each head, and scale by LongRoPE.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

constexpr uint32_t original_context = 4096;  // by default, as in Transformers

void read_phi3(const json_object& config, model_config& m) {
  require_silu(config);
  m.fused_projections = true;
  m.window.assign(m.layers, read_window_width(config, 0));
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim,
                                          .max_positions = m.max_positions,
                                          .partial = true,
                                          .longrope_context = original_context});
}

}  // namespace

const model_family phi3_family{
    .name = "phi3", .norm_epsilon = 1e-5, .bos = 1, .eos = 32000, .read = read_phi3};

}  // namespace troupe::llm
