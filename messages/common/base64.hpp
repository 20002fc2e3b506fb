// Base64 (RFC 4648, section 4), with padding.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

std::string to_base64(std::span<const std::byte> bytes);

/// The bytes; nothing if it is not base64: other characters, or a length that is no multiple of four.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace troupe
