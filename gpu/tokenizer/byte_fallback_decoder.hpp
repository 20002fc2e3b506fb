// The decoder of a BPE with byte_fallback: how its tokens become text.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

struct byte_fallback_decoder {
  std::vector<std::pair<std::string, std::string>> replacements;  ///< in a token, one after the other
  bool strips_space = false;  ///< omits a space at the beginning of a text

  /// The bytes of a token with this text.
  std::string bytes_of(std::string_view token_text) const;
};

/// Reads Replace, ByteFallback, Fuse and Strip, in this order; all but ByteFallback may be missing. Throws
/// model_error for others.
byte_fallback_decoder read_byte_fallback_decoder(const json_place& decoder);

}  // namespace troupe::llm
