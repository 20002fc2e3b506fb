#pragma once
#include <cstdint>
#include <vector>

#include "gpu/checkpoint/json_object.hpp"

namespace troupe::llm {

/// [head_dim / 2] radians per position, of the rotary embedding in a `config.json`: from `rope_parameters`
/// (Transformers 5), or `rope_theta` and `rope_scaling`. Throws model_error for kinds other than default,
/// linear and llama3. Requires: head_dim even.
std::vector<float> read_rope_frequencies(const json_object& config, uint32_t head_dim,
                                         uint32_t max_positions);

}  // namespace troupe::llm
