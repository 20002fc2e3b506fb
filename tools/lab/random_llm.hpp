// Language models and adapters of any shape with random weights, made in memory: for measuring.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/parameters.hpp"

namespace troupe::llm {

struct llm_shape {
  uint32_t layers = 16, hidden = 2048, heads = 32, kv_heads = 8, intermediate = 8192, vocabulary = 128'256;
};

/// A Llama with tied embeddings and room for `positions` tokens. Throws request_refused if no model has this
/// shape: `hidden` is a multiple of `heads`, they of `kv_heads`; heads are of 2 to 256 numbers, evenly many.
model_config random_config(const llm_shape& shape, uint32_t positions);

/// A layer as a checkpoint would give it, of `type`: norms are 1, the others as a model's before training.
/// The same for the same arguments, whatever the number of threads. Requires: layer < config.layers + 2.
layer_parameters random_layer(const model_config& config, uint32_t layer, element type, uint64_t seed);

/// An adapter of one rank for all seven projections of all layers.
adapter random_adapter(const model_config& config, uint32_t rank, element type, uint64_t seed);

/// Numbers that a token passes: all but the embedding's, of which it reads one row.
uint64_t passed_parameters(const model_config& config);

}  // namespace troupe::llm
