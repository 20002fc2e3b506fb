// PEFT's `rank_pattern` and `alpha_pattern`: numbers for modules, by patterns of their names.
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
  /// Throws model_error for values outside of `low` .. `high`, and for an expression that is invalid or too
  /// long.
  module_patterns(const json_object& patterns, double low, double high, bool integers);

  /// None if no key matches. Throws model_error, which names file and key, for an expression that backtracks
  /// for too long.
  std::optional<double> find(std::string_view module) const;

 private:
  struct pattern {
    std::string name;    // only without an expression
    bool whole = false;  // the name must equal the module's full name
    std::optional<python_pattern> expression;
    std::string where;  // origin of an expression, for messages
    double value = 0;

    bool matches(std::string_view module) const;
  };
  std::vector<pattern> patterns_;
};

}  // namespace troupe::llm
