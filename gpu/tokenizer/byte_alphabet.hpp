// The byte alphabet of byte-level BPE: 256 visible characters, of which 188 are the bytes themselves.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// The bytes of `text` (UTF-8) in this alphabet; none if it has another character.
std::optional<std::string> bytes_of(std::string_view text);

/// The inverse: `bytes` in this alphabet, as UTF-8.
std::string in_alphabet(std::string_view bytes);

}  // namespace troupe::llm
