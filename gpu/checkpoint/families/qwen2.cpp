// Qwen2 and Qwen2.5: biases of queries, keys and values; sliding windows in the last layers.
#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_qwen2(const json_object& config, model_config& m) {
  require_silu(config);
  m.qkv_bias = true;
  m.window = read_qwen_windows(config, m.layers);
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family qwen2_family{
    .name = "qwen2", .kv_heads = 32, .bos = std::nullopt, .eos = std::nullopt, .read = read_qwen2};

}  // namespace troupe::llm
