#include "gpu/tokenizer/byte_token.hpp"

#include <fmt/format.h>

#include <charconv>

namespace troupe::llm {

std::string byte_token(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<uint8_t> byte_of_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x")) return std::nullopt;
  uint8_t byte = 0;
  const auto* end = text.data() + 5;
  const auto read = std::from_chars(text.data() + 3, end, byte, 16);
  return read.ptr == end && read.ec == std::errc{} && byte_token(byte) == text ? std::optional(byte)
                                                                               : std::nullopt;
}

}  // namespace troupe::llm
