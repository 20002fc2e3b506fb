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

/// Character by byte; all are below U+0800, two bytes of UTF-8 at most.
constexpr auto character_of = [] {
  std::array<uint16_t, 256> by_byte{};
  for (size_t c = 0; c < alphabet.size(); ++c)
    if (alphabet[c] >= 0) by_byte[static_cast<size_t>(alphabet[c])] = static_cast<uint16_t>(c);
  return by_byte;
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

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto c = character_of[static_cast<uint8_t>(byte)];
    if (c >= 0x80) text += static_cast<char>(0xc0 | c >> 6);
    text += static_cast<char>(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
  }
  return text;
}

}  // namespace troupe::llm
