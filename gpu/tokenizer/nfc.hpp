#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// `text` (UTF-8) in Unicode's normalization form C, in time proportional to its length but for a logarithm.
std::string nfc(std::string_view text);

}  // namespace troupe::llm
