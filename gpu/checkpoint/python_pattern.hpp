// Regular expressions with the semantics of Python's `re`, for module names of PEFT adapters.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace troupe::llm {

/// Immutable and cheap to copy.
class python_pattern {
 public:
  /// `expression`: UTF-8. Throws model_error with the reason for an invalid expression, for constructs that
  /// PCRE2 reads differently from Python, and for flags and conditions, which module names do not need.
  explicit python_pattern(const std::string& expression);

  /// re.fullmatch(expression, text). `text`: valid UTF-8. Throws model_error if the expression backtracks for
  /// too long.
  bool matches_all_of(std::string_view text) const;

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

}  // namespace troupe::llm
