#include "gpu/checkpoint/module_patterns.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

// Limits of the time for matches. Plain names, of which there may be many, do not count.
constexpr size_t longest_expression = 256, max_pattern_characters = 1024;

struct plain_name {
  std::string text;
  bool whole;
};

/// Parses a key that is a plain name, possibly written as an expression: "^model\\.layers\\.0$".
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
    if (key.size() > longest_expression || characters > max_pattern_characters)
      patterns.fail(
          key, fmt::format("is too long: use module names, or expressions of at most {} bytes, {} together",
                           longest_expression, max_pattern_characters));
    try {
      p.expression.emplace(fmt::format(R"((.*\.)?({}))", key));
    } catch (const model_error& e) {
      patterns.fail(key,
                    fmt::format("is not a supported regular expression ({}): use module names", e.what()));
    }
    p.where = patterns.named(key);
  }
}

bool module_patterns::pattern::matches(std::string_view module) const {
  if (!expression) {
    if (!module.ends_with(name)) return false;
    const auto before = module.substr(0, module.size() - name.size());
    return before.empty() || (!whole && before.ends_with('.'));
  }
  try {
    return expression->matches_all_of(module);
  } catch (const model_error& e) {
    throw model_error(
        fmt::format("{} takes too long to match '{}' ({}): use module names", where, module, e.what()));
  }
}

std::optional<double> module_patterns::find(std::string_view module) const {
  for (const auto& p : patterns_) {
    if (p.matches(module)) return p.value;
  }
  return std::nullopt;
}

}  // namespace troupe::llm
