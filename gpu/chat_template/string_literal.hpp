// Decodes backslash escapes, as in Python's string literals.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm::jinja {

/// None for incomplete escapes, unpaired surrogates, and \N{...}. A backslash that begins no escape stays, as
/// in Python.
std::optional<std::string> decode_escapes(std::string_view s);

}  // namespace troupe::llm::jinja
