// The tokens of single bytes in vocabularies of characters: "<0x00>" to "<0xFF>".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

std::string byte_token(uint8_t byte);

/// The byte of such a token; none if `text` is another one.
std::optional<uint8_t> byte_of_token(std::string_view text);

}  // namespace troupe::llm
