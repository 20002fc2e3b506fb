// Gemma 3, its language model: queries and keys are normalised, and layers with a sliding window have a
// rotary embedding of their own (gemma.hpp has the rest). Five of six layers have a window.
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/gemma.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

constexpr double default_theta = 1e6, default_local_theta = 1e4;

/// In `rope_parameters` by the type of layer, or else in `rope_theta`, `rope_scaling` and
/// `rope_local_base_freq`, which is never scaled.
void read_ropes(const json_object& config, model_config& m) {
  const rotary_limits limits{
      .head_dim = m.head_dim, .max_positions = m.max_positions, .theta = default_theta};
  auto local_limits = limits;
  local_limits.theta = default_local_theta;
  const auto all = config.object("rope_parameters");
  const auto full = all ? all->object("full_attention") : std::nullopt;
  const auto sliding = all ? all->object("sliding_attention") : std::nullopt;
  if (full && sliding) {
    m.rope = read_rotary_embedding(config, *full, limits);
    m.local_rope = read_rotary_embedding(config, *sliding, local_limits);
    return;
  }
  m.rope = read_rotary_embedding(config, limits);
  m.local_rope = unscaled_rotary_embedding(
      config.number("rope_local_base_freq", lowest_theta, highest_theta, default_local_theta), m.head_dim);
}

void read_gemma3(const json_object& config, model_config& m) {
  const char* key =
      config.lacks("sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  read_gemma(config, static_cast<uint32_t>(config.integer(key, 1, 1 << 20, 6)), m);
  if (!config.lacks("attn_logit_softcapping"))
    config.fail("attn_logit_softcapping", "is set: Gemma 3 does not cap scores, remove it");
  m.logit_cap = read_soft_cap(config, "final_logit_softcapping", 0);
  m.head_norms = true;
  read_ropes(config, m);
}

}  // namespace

const model_family gemma3_family{.name = "gemma3_text",
                                 .kv_heads = 4,
                                 .head_dim = 256,
                                 .tied_embeddings = true,
                                 .bos = 2,
                                 .eos = 1,
                                 .read = read_gemma3};

}  // namespace troupe::llm
