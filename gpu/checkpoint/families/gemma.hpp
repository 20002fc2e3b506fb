// What the generations of Gemma share.
#pragma once
#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/model_config.hpp"

namespace troupe::llm {

/// Embeddings times sqrt(hidden), norms with the weight 1 + w around attention and feed-forward layer, GELU,
/// `query_pre_attn_scalar`, the cap of the logits, and a window in all layers but every `pattern`th.
void read_gemma(const json_object& config, uint32_t pattern, model_config& m);

/// The cap of logits or of scores; 0 if the key is null, `otherwise` if it is absent.
float read_soft_cap(const json_object& config, const char* key, float otherwise);

}  // namespace troupe::llm
