// The merges of a BPE: pairs of adjacent symbols that become one, each with its rank.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// A hash table in one array: encoding looks up a pair for every byte of a text. Thread-safe once filled.
class merge_table {
 public:
  struct merge {
    uint32_t rank = 0;  ///< the lowest applies first
    token result = 0;
  };

  /// `pairs`: at most so many are added.
  explicit merge_table(size_t pairs = 0);

  /// A second merge of the same pair has no effect. Requires: `result` is not negative.
  void add(token left, token right, merge m);
  /// Null: the pair has no merge.
  const merge* find(token left, token right) const {
    const auto& s = slots_[place_of(key(left, right))];
    return s.of.result < 0 ? nullptr : &s.of;
  }

 private:
  struct slot {
    uint64_t pair = 0;
    merge of{0, -1};  // negative result: free
  };
  static uint64_t key(token left, token right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  /// The place of a pair, or the free one where it belongs.
  size_t place_of(uint64_t pair) const {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15, another = 0xff51afd7ed558ccd;
    auto mixed = pair * odd;
    mixed = (mixed ^ mixed >> 32) * another;
    for (size_t at = mixed >> shift_;; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].of.result < 0 || slots_[at].pair == pair) return at;
  }

  std::vector<slot> slots_;  // a power of two, at most half of them taken
  int shift_ = 0;            // of a hash, to a place
};

}  // namespace troupe::llm
