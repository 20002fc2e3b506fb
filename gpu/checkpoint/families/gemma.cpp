#include "gpu/checkpoint/families/gemma.hpp"

#include <cmath>

#include "gpu/checkpoint/families/activations.hpp"
#include "gpu/checkpoint/families/layer_windows.hpp"

namespace troupe::llm {

float read_soft_cap(const json_object& config, const char* key, float otherwise) {
  constexpr double lowest = 1e-3, highest = 1e6;
  const float absent = config.mentions(key) ? 0 : otherwise;
  return static_cast<float>(config.number(key, lowest, highest, absent));
}

void read_gemma(const json_object& config, uint32_t pattern, model_config& m) {
  constexpr uint32_t default_width = 4096;
  constexpr double default_scalar = 256, highest_scalar = 1 << 20;
  require_gelu_tanh(config);
  if (config.flag("use_bidirectional_attention", false)) {
    config.fail("use_bidirectional_attention",
                "is set: this is a model of embeddings; only causal models are supported");
  }
  m.activation = gate_activation::gelu_tanh;
  m.output_norms = true;
  m.norm_offset = 1;
  m.embedding_scale = std::sqrt(static_cast<float>(m.hidden));
  m.qkv_bias = m.o_bias = config.flag("attention_bias", false);
  m.query_scale = static_cast<float>(
      1 / std::sqrt(config.number("query_pre_attn_scalar", 1e-3, highest_scalar, default_scalar)));

  std::vector<bool> sliding(m.layers);
  for (size_t i = 0; i < m.layers; ++i) sliding[i] = (i + 1) % pattern != 0;
  m.window =
      read_layer_windows(config, read_window_width(config, default_width), sliding, "'sliding_window' gives");
}

}  // namespace troupe::llm
