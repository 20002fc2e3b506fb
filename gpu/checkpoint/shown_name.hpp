#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// Formats a name of a file's content for a message: quoted, without control characters, truncated if very
/// long.
inline std::string shown_name(std::string_view name) {
  constexpr size_t longest = 120;
  std::string text = "'";
  for (const char c : name.substr(0, longest))
    text += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "...'" : "'");
}

}  // namespace troupe::llm
