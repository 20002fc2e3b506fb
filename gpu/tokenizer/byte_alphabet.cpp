#include "gpu/tokenizer/byte_alphabet.hpp"

#include <array>
#include <cstdint>

#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

constexpr size_t alphabet_size = 324;  // the last one is U+0143

/// Byte by character; -1 for characters outside of the alphabet. Visible Latin-1 characters are their own
/// bytes; the other bytes follow from U+0100 on.
constexpr auto alphabet = [] {
  std::array<int16_t, alphabet_size> bytes{};
  bytes.fill(-1);
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    bytes[visible ? static_cast<size_t>(byte) : next++] = static_cast<int16_t>(byte);
  }
  return bytes;
}();

}  // namespace

std::optional<std::string> bytes_of(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    size_t length = 0;
    const auto c = first_character(text, length);
    if (c >= alphabet.size() || alphabet[c] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet[c]);
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace troupe::llm
