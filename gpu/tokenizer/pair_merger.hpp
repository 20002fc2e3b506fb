// Byte-pair encoding of a word: adjacent symbols are merged, the merge of the lowest rank first and of equal
// ones the leftmost, until none applies.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/tokenizer/merge_table.hpp"

namespace troupe::llm {

/// Reuses its memory for all words of a text. Not thread-safe.
class pair_merger {
 public:
  /// `merges` outlives the merger.
  explicit pair_merger(const merge_table& merges) : merges_(merges) {}

  /// Appends what is left of `symbols` (not negative) to `out`.
  void append(std::span<const token> symbols, std::vector<token>& out);

 private:
  static constexpr int32_t none = -1;

  /// A symbol of the word, in a linked list. A merge extends the left one.
  struct symbol_entry {
    token id;
    int32_t previous;
    int32_t next;
    bool merged = false;  // into the symbol before it
  };
  struct candidate {
    uint32_t rank;
    int32_t left;
  };
  /// Order of the heap, which has the greatest first.
  static bool later(const candidate& a, const candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }

  void append_short(std::span<const token> symbols, std::vector<token>& out);
  symbol_entry& symbol(int32_t at) { return symbols_[static_cast<size_t>(at)]; }
  void propose(int32_t left);
  void apply(const candidate& c);

  const merge_table& merges_;
  std::vector<symbol_entry> symbols_;
  std::vector<candidate> candidates_;
};

}  // namespace troupe::llm
