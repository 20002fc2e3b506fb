// Qwen3: each head's queries and keys are normalised before the rotation (q_norm, k_norm), and there are no
// biases unless `attention_bias` says so; windows as in Qwen2.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_qwen3(const json_object& config, model_config& m) {
  require_silu(config);
  m.head_norms = true;
  m.qkv_bias = m.o_bias = config.flag("attention_bias", false);
  m.window = read_qwen_windows(config, m.layers);
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family qwen3_family{.name = "qwen3",
                                .kv_heads = 32,
                                .head_dim = 128,
                                .bos = std::nullopt,
                                .eos = std::nullopt,
                                .read = read_qwen3};

}  // namespace troupe::llm
