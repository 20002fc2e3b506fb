// How byte-level BPE writes bytes: 256 visible characters, of which 188 are the bytes themselves.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// The bytes that `text` (UTF-8) stands for; nothing if it has a character outside of the alphabet.
std::optional<std::string> bytes_of(std::string_view text);

}  // namespace troupe::llm
