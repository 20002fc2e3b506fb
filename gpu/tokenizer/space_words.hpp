// The words of a text whose spaces are U+2581, for a BPE: no merge joins the symbols of two of them.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace troupe::llm {

/// The symbol for a space in pieces.
inline constexpr std::string_view space_symbol = "\xe2\x96\x81";

/// Thread-safe once all pieces are noted.
class space_words {
 public:
  /// Notes the characters before spaces inside of `piece` (UTF-8), the result of a merge.
  void note(std::string_view piece);

  /// The bytes of the first word of `text` (UTF-8, not empty): up to a space that no piece joins with the
  /// character before it.
  size_t first(std::string_view text) const;

 private:
  bool joins(char last) const;

  std::array<bool, 128> ascii_{};  // by character: some piece has a space behind it
  bool others_ = false;            // likewise, of all other characters
};

}  // namespace troupe::llm
