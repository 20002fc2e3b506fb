// Where a text is cut before it is tokenized: at a regular expression's matches and between them.
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

/// Immutable, thread-safe: what a match needs is its call's own.
class split_pattern {
 public:
  /// `pattern` is PCRE2's, read as UTF-8 with Unicode's properties. Throws model_error with the reason.
  explicit split_pattern(const std::string& pattern);
  ~split_pattern();
  split_pattern(split_pattern&&) noexcept;
  split_pattern& operator=(split_pattern&&) = delete;

  /// Calls `piece` with every match in `text` (UTF-8) and with what is between them, in order; never with an
  /// empty one. Throws request_refused where the pattern goes back and forth in the text for too long.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  /// The first match in `text` (UTF-8).
  std::optional<text_span> find(std::string_view text) const;

 private:
  struct compiled;
  std::unique_ptr<const compiled> compiled_;
};

/// GPT-2's, for tokenizers that name none.
extern const char* const gpt2_pattern;

}  // namespace troupe::llm
