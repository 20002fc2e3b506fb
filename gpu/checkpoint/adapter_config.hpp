// `adapter_config.json` of PEFT, as far as it changes what an adapter computes.
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
  /// Throws model_error, naming `file`, the key and the fix, for what adapter.hpp says is not served.
  adapter_config(std::string_view text, const std::string& file);

  /// `module` is its name in the model: "model.layers.3.self_attn.q_proj".
  adapter_strength of(std::string_view module) const;

 private:
  uint32_t rank_ = 0;
  double alpha_ = 0;
  bool rank_stabilized_ = false;  // alpha / sqrt(r)
  module_patterns rank_pattern_, alpha_pattern_;
};

}  // namespace troupe::llm
