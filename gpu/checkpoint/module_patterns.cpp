#include "gpu/checkpoint/module_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::llm {

namespace {

// Of all expressions of a file together: the time and the stack of a match grow with them.
constexpr size_t longest_expression = 256, most_characters = 4096;

bool is_plain(std::string_view key) {
  return std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

/// What std::regex would take too long or too much stack for.
bool is_costly(std::string_view key) {
  if (key.size() > longest_expression) return true;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '\\') {
      ++i;
    } else if (key[i] == '{' || key.substr(i, 2) == "(?") {
      if (key.substr(i, 3) != "(?:") return true;
    }
  }
  return std::ranges::any_of(key, [](char c) { return c < ' ' || c > '~'; });
}

}  // namespace

module_patterns::module_patterns(const json_object& patterns, double low, double high, bool integers) {
  size_t characters = 0;
  for (const auto& [key, value] : patterns.items().items()) {
    if (!value.is_number() || (integers && !value.is_number_unsigned()) || !(value.get<double>() >= low) ||
        !(value.get<double>() <= high)) {
      patterns.refuse(key, value,
                      fmt::format("{} from {} to {}", integers ? "an integer" : "a number", low, high));
    }
    auto& p = patterns_.emplace_back(pattern{key, std::nullopt, value.get<double>()});
    if (is_plain(key)) continue;
    characters += key.size();
    if (is_costly(key) || characters > most_characters) {
      patterns.fail(
          key, "is too much of a pattern: use module names, or expressions without {}, (?= and the like");
    }
    try {
      // Polynomial: in time that grows with states times characters, whatever the expression. Its price is
      // that it knows no back-references.
      p.expression.emplace("(?:.*\\.)?(?:" + key + ")",
                           std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial);
    } catch (const std::regex_error&) {
      patterns.fail(key, "is no regular expression that can be used here: use module names");
    }
  }
}

std::optional<double> module_patterns::find(std::string_view module) const {
  for (const auto& p : patterns_) {
    if (module == p.key || (module.ends_with(p.key) && module.size() > p.key.size() &&
                            module[module.size() - p.key.size() - 1] == '.')) {
      return p.value;
    }
    if (p.expression && std::regex_match(module.begin(), module.end(), *p.expression)) return p.value;
  }
  return std::nullopt;
}

}  // namespace troupe::llm
