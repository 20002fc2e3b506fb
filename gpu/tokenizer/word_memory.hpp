// word_memory remembers the tokens of the words of one text: most words of a long text occur in it before.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Bounded: a table of at most 4096 words, in which a word replaces another of the same place. Not
/// thread-safe.
class word_memory {
 public:
  /// `text`: the size in bytes of the text, which chooses the size of the table.
  explicit word_memory(size_t text) : slots_(std::bit_ceil(std::clamp<size_t>(text / 16, 16, 4096))) {}

  /// Appends the tokens of `word` to `out`: those of its last occurrence, or those that `encode` appends.
  /// Requires: `out` is the same in every call, and keeps all that was appended.
  template <class Encode>
  void append(std::string_view word, std::vector<token>& out, Encode&& encode) {
    if (word.empty() || word.size() > max_bytes) return encode();
    const auto key = key_of(word);
    auto& s = slots_[place_of(key)];
    const auto begin = out.size();
    if (same(s.word, key)) {
      out.resize(begin + s.tokens);
      std::copy_n(out.begin() + s.begin, s.tokens, out.begin() + static_cast<std::ptrdiff_t>(begin));
      return;
    }
    encode();
    if (begin > UINT32_MAX) return;
    s = {key, static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size() - begin)};
  }

 private:
  static constexpr size_t max_bytes = 23;
  using key_words = std::array<uint64_t, 3>;  // the bytes, and their number; all zero: none

  struct slot {
    key_words word{};
    uint32_t begin = 0;  // of its tokens in the output
    uint32_t tokens = 0;
  };

  static bool same(const key_words& a, const key_words& b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
  }
  static key_words key_of(std::string_view word) {
    key_words key{};
    std::memcpy(key.data(), word.data(), word.size());
    key[2] |= static_cast<uint64_t>(word.size()) << 56;
    return key;
  }
  size_t place_of(const key_words& key) const {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15, another = 0xff51afd7ed558ccd;
    auto mixed = (key[0] * odd ^ key[1]) * another ^ key[2];
    mixed = (mixed ^ mixed >> 32) * odd;
    return (mixed ^ mixed >> 29) & (slots_.size() - 1);
  }

  std::vector<slot> slots_;
};

}  // namespace troupe::llm
