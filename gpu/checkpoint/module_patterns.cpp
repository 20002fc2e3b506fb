#include "gpu/checkpoint/module_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::llm {

namespace {

// The time and the stack of a match grow with them. Names, which may be many, do not count.
constexpr size_t longest_expression = 256, most_characters = 1024;

struct plain_name {
  std::string text;
  bool whole;
};

/// What a key says that is but a name, perhaps written as an expression: "^model\\.layers\\.0$".
std::optional<plain_name> read_plain(std::string_view key) {
  plain_name name{"", key.starts_with('^')};
  key.remove_prefix(name.whole);
  key.remove_suffix(key.ends_with('$'));
  while (!key.empty()) {
    if (key.starts_with("\\.")) key.remove_prefix(1);
    const char c = key.front();
    const bool in_names =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!in_names) return std::nullopt;
    name.text += c;
    key.remove_prefix(1);
  }
  return name;
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
    auto& p = patterns_.emplace_back();
    p.value = value.get<double>();
    if (auto plain = read_plain(key)) {
      p.name = std::move(plain->text);
      p.whole = plain->whole;
      continue;
    }
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
  const auto ends_with_part = [&](std::string_view name) {
    return module.size() > name.size() && module.ends_with(name) &&
           module[module.size() - name.size() - 1] == '.';
  };
  for (const auto& p : patterns_) {
    const bool matches = p.expression ? std::regex_match(module.begin(), module.end(), *p.expression)
                                      : module == p.name || (!p.whole && ends_with_part(p.name));
    if (matches) return p.value;
  }
  return std::nullopt;
}

}  // namespace troupe::llm
