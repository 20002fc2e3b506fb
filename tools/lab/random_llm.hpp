// Language models and adapters of any shape with random weights in memory, for measurements.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/parameters.hpp"

namespace troupe::llm {

struct llm_shape {
  uint32_t layers = 16, hidden = 2048, heads = 32, kv_heads = 8, intermediate = 8192, vocabulary = 128'256;
};

/// A Llama with tied embeddings and room for `positions` tokens. Throws request_refused for an impossible
/// shape: `hidden` must be a multiple of `heads`, `heads` a multiple of `kv_heads`, and the head dimension
/// even and in [2, 256].
model_config random_config(const llm_shape& shape, uint32_t positions);

/// A layer of `type` as if read from a checkpoint: norms are 1, other weights are initialized as before
/// training. Deterministic. Requires: layer < config.layers + 2.
layer_parameters random_layer(const model_config& config, uint32_t layer, element type, uint64_t seed);

/// An adapter of one rank for all seven projections of all layers.
adapter random_adapter(const model_config& config, uint32_t rank, element type, uint64_t seed);

/// Parameters that a token uses: all but the embedding, of which it reads one row.
uint64_t passed_parameters(const model_config& config);

}  // namespace troupe::llm
