// PEFT's `adapter_config.json`: the settings that change an adapter's result.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/checkpoint/module_patterns.hpp"

namespace troupe::llm {

inline constexpr uint32_t largest_rank = 256;

struct adapter_strength {
  uint32_t rank;
  float scale;  ///< see adapter_part
};

class adapter_config {
 public:
  /// Throws model_error, which names `file`, the key and the fix, for the unsupported features of
  /// adapter.hpp.
  adapter_config(std::string_view text, const std::string& file);

  /// `module`: name in the model, "model.layers.3.self_attn.q_proj".
  adapter_strength of(std::string_view module) const;

 private:
  uint32_t rank_ = 0;
  double alpha_ = 0;
  bool rank_stabilized_ = false;  // alpha / sqrt(r)
  module_patterns rank_pattern_, alpha_pattern_;
};

}  // namespace troupe::llm
