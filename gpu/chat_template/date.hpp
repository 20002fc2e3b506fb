// Formats dates like strftime, in English.
#pragma once
#include <string>
#include <string_view>

namespace troupe::llm::jinja {

/// `iso`: 2024-07-26, 2024-07-26T14:05 or 2024-07-26T14:05:09. Throws refusal for other forms, and for an
/// unsupported directive in the format.
std::string format_date(std::string_view iso, std::string_view format);

}  // namespace troupe::llm::jinja
