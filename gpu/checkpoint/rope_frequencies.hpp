#pragma once
#include <cstdint>
#include <vector>

#include "gpu/checkpoint/json_object.hpp"

namespace troupe::llm {

/// [head_dim / 2] radians a position, of the rotary embedding that a `config.json` describes: with
/// `rope_parameters` (as of Transformers 5) or `rope_theta` and `rope_scaling`. Throws model_error for any
/// kind but default, linear and llama3. Requires: head_dim even.
std::vector<float> read_rope_frequencies(const json_object& config, uint32_t head_dim,
                                         uint32_t max_positions);

}  // namespace troupe::llm
