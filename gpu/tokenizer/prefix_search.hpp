// Search of a text for the places where one of a set of strings begins.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::llm {

/// Immutable, thread-safe. A place costs a look-up by its byte, unless a string of the set begins with that
/// byte.
class prefix_search {
 public:
  prefix_search() = default;
  /// Of equal strings the first counts; empty ones are never found.
  explicit prefix_search(std::vector<std::string> strings);

  struct match {
    size_t which;  ///< index into the strings
    size_t size;   ///< bytes
  };
  /// The longest string that is a prefix of `text`.
  std::optional<match> longest(std::string_view text) const;

  /// The first place from `from` on where a string may begin; the size of `text` if there is none.
  size_t next(std::string_view text, size_t from) const;

  bool empty() const { return sorted_.empty(); }

 private:
  struct entry {
    std::string content;
    size_t which;
  };
  std::vector<entry> sorted_;            // by content
  std::array<bool, 256> first_bytes_{};  // of the strings
  std::optional<char> only_first_byte_;  // if all begin with the same one
};

}  // namespace troupe::llm
