// A trie of pieces as a double array (Aoe, 1989): the child of a node by a byte is at the node's base plus
// the byte, if that place belongs to the node.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Immutable, thread-safe.
class piece_trie {
 public:
  using entry = std::pair<std::string_view, token>;
  /// Requires: texts are distinct and not empty, tokens are not negative.
  explicit piece_trie(std::vector<entry> entries);

  /// Calls `use` with the token and the size of every piece that is a prefix of `text`, the shortest first.
  template <class Use>
  void each_prefix(std::string_view text, Use&& use) const {
    int32_t node = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      const auto next =
          static_cast<size_t>(units_[static_cast<size_t>(node)].base) + static_cast<uint8_t>(text[at]);
      if (units_[next].parent != node) return;
      node = static_cast<int32_t>(next);
      if (const auto t = units_[next].value; t >= 0) use(t, at + 1);
    }
  }

 private:
  struct unit {
    int32_t base = 0;     // of its children
    int32_t parent = -1;  // -1: free
    token value = -1;     // -1: no piece ends here
  };
  void add_children(int32_t node, std::span<const entry> entries, size_t depth);
  size_t find_base(std::span<const uint8_t> bytes);

  std::vector<unit> units_;  // 256 free ones at the end, so that no step leaves the array
  size_t first_free_ = 1;    // hardly any place before it is free
};

}  // namespace troupe::llm
