// PEFT's `rank_pattern` and `alpha_pattern`: numbers for the modules whose names match a key.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/python_pattern.hpp"

namespace troupe::llm {

/// A key matches a module if the module's name is the key or ends with "." and the key, or if the regular
/// expression `(.*\.)?(key)` matches all of the name. The first key of the file that matches counts.
class module_patterns {
 public:
  module_patterns() = default;
  /// Values are from `low` to `high`. Throws model_error for others, and for an expression that is none or
  /// too long.
  module_patterns(const json_object& patterns, double low, double high, bool integers);

  /// Nothing if no key matches. Throws model_error, which names file and key, for an expression that goes
  /// back and forth in the name for too long.
  std::optional<double> find(std::string_view module) const;

 private:
  struct pattern {
    std::string name;    // if there is no expression
    bool whole = false;  // the name must be all of the module's
    std::optional<python_pattern> expression;
    std::string where;  // it is written, for messages; if there is an expression
    double value = 0;

    bool matches(std::string_view module) const;
  };
  std::vector<pattern> patterns_;
};

}  // namespace troupe::llm
