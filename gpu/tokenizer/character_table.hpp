// The symbols of single characters, with which the merges of a BPE begin.
#pragma once
#include <array>
#include <unordered_map>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Thread-safe once filled.
class character_table {
 public:
  character_table() { ascii_.fill(-1); }

  /// A second symbol of the same character has no effect. Requires: `symbol` is not negative.
  void add(char32_t c, token symbol) {
    if (c >= ascii_.size())
      others_.emplace(c, symbol);
    else if (ascii_[c] < 0)
      ascii_[c] = symbol;
  }

  /// -1: the character has none.
  token find(char32_t c) const {
    if (c < ascii_.size()) return ascii_[c];
    const auto found = others_.find(c);
    return found == others_.end() ? -1 : found->second;
  }

 private:
  std::array<token, 128> ascii_{};
  std::unordered_map<char32_t, token> others_;
};

}  // namespace troupe::llm
