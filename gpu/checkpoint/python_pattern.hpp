// A regular expression as Python's `re` reads it: what adapters of PEFT name their modules with.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace troupe::llm {

/// Immutable and cheap to copy.
class python_pattern {
 public:
  /// UTF-8. Throws model_error with the reason for what is no expression, for what PCRE2 would read otherwise
  /// than Python, and for flags and conditions, which nobody needs to name modules.
  explicit python_pattern(const std::string& expression);

  /// re.fullmatch(expression, text): `text` is valid UTF-8. Throws model_error where the expression goes back
  /// and forth in it for too long.
  bool matches_all_of(std::string_view text) const;

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

}  // namespace troupe::llm
