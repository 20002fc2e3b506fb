#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// `text` (UTF-8) in Unicode's normalization form C, in O(n log n) time.
std::string nfc(std::string_view text);

}  // namespace troupe::llm
