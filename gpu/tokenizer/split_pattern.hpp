// Pre-tokenization: splits a text into the matches of a regular expression and the text between them.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// A part of a text, [begin, end) in bytes.
struct text_span {
  size_t begin = 0;
  size_t end = 0;
};

/// Immutable, thread-safe.
class split_pattern {
 public:
  /// `pattern`: a PCRE2 pattern in UTF-8, with Unicode properties. Throws model_error with the reason.
  explicit split_pattern(const std::string& pattern);
  ~split_pattern();
  split_pattern(split_pattern&&) noexcept;
  split_pattern& operator=(split_pattern&&) = delete;

  /// Calls `piece` with every match in `text` (UTF-8) and with the text between matches, in order; never with
  /// an empty text. Throws request_refused if the pattern backtracks for too long.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;
  /// The same without the text between matches.
  void matches(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  /// The first match in `text` (UTF-8).
  std::optional<text_span> find(std::string_view text) const;

 private:
  /// Calls `use` with every match, which may be empty.
  template <class Use>
  void each_match(std::string_view text, Use use) const;

  struct compiled;
  std::unique_ptr<const compiled> compiled_;
};

/// GPT-2's pattern, for tokenizers without one.
extern const char* const gpt2_pattern;

}  // namespace troupe::llm
