// The rules that model_config.proto has for fields, applied to a configuration.
#pragma once
#include <string>
#include <vector>

#include "config/problem.hpp"
#include "config/triton/model_config_text.hpp"

namespace troupe::triton {

struct ruled_fields {
  std::vector<problem> refused;  ///< "dynamic_batching.x is not supported: ..."
  std::vector<problem> ignored;  ///< "optimization has no effect: ..."; the first value of a repeated field
};

/// `file`: its name in places.
ruled_fields apply_rules(const model_config_text& config, const std::string& file);

}  // namespace troupe::triton
