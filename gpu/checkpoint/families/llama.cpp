// Llama 2 and 3: the blocks that all others are compared with.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_llama(const json_object& config, model_config& m) {
  require_silu(config);
  m.qkv_bias = m.o_bias = config.flag("attention_bias", false);
  m.mlp_bias = config.flag("mlp_bias", false);
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family llama_family{.name = "llama", .read = read_llama};

}  // namespace troupe::llm
