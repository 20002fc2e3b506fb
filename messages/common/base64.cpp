#include "messages/common/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace troupe {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t no_value = 255;

/// The value of each character.
constexpr std::array<uint8_t, 256> values = [] {
  std::array<uint8_t, 256> out{};
  out.fill(no_value);
  for (uint8_t i = 0; i < alphabet.size(); ++i) out[static_cast<uint8_t>(alphabet[i])] = i;
  return out;
}();

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(3, bytes.size()))) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i)
      three = three << 8 | (i < bytes.size() ? std::to_integer<uint32_t>(bytes[i]) : 0);
    for (size_t i = 0; i < 4; ++i) out += i <= bytes.size() ? alphabet[three >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool padded = i >= text.size() - padding;
    const uint32_t value = padded ? 0 : values[static_cast<uint8_t>(text[i])];
    if (value == no_value) return {};
    bits = bits << 6 | value;
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 0xff);
    bits = 0;
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace troupe
