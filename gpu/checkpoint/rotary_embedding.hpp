// Reads the rotary position embedding of a `config.json`.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/model_config.hpp"

namespace troupe::llm {

inline constexpr double lowest_theta = 1, highest_theta = 1e12;

/// What a family supports, and its sizes and defaults.
struct rotary_limits {
  uint32_t head_dim = 0;  ///< even
  uint32_t max_positions = 0;
  double theta = 10000;           ///< without `rope_theta`
  bool partial = false;           ///< `partial_rotary_factor` may be below 1
  uint32_t longrope_context = 0;  ///< LongRoPE may scale it, from this context by default; 0: it may not
};

/// By `rope_parameters` (Transformers 5), or `rope_theta` and `rope_scaling`. Throws model_error for kinds
/// other than default, linear and llama3, unless the limits allow them.
rotary_embedding read_rotary_embedding(const json_object& config, rotary_limits limits);
/// The same by one object, which lies in `rope_parameters`, for the layers of one type.
rotary_embedding read_rotary_embedding(const json_object& config, const json_object& rope,
                                       const rotary_limits& limits);
/// theta^(-2i / rotated).
rotary_embedding unscaled_rotary_embedding(double theta, uint32_t rotated);

}  // namespace troupe::llm
