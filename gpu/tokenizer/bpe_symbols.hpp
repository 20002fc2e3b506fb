// The symbols with which the merges of a BPE begin: the bytes of a word, or its characters.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/tokenizer_json.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Immutable, thread-safe.
class bpe_symbols {
 public:
  virtual ~bpe_symbols() = default;

  /// Appends the symbols of `word` (UTF-8). Bytes without a token are left out.
  virtual void append(std::string_view word, std::vector<token>& to) const = 0;

  /// The bytes of the first part of `word` (UTF-8, not empty): no merge joins it with the rest.
  virtual size_t first_part(std::string_view word) const { return word.size(); }
};

/// As `file.byte_fallback` says.
std::unique_ptr<const bpe_symbols> make_bpe_symbols(const tokenizer_json& file);

}  // namespace troupe::llm
