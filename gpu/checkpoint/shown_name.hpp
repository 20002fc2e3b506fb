#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// A name out of a file, for a message: in quotes, without control characters, cut where it is absurdly long.
inline std::string shown_name(std::string_view name) {
  constexpr size_t longest = 120;
  std::string text = "'";
  for (const char c : name.substr(0, longest))
    text += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "...'" : "'");
}

}  // namespace troupe::llm
