// Backslash escapes, as in Python's string literals.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm::jinja {

/// Nothing for half an escape, one of half a surrogate pair, and \N{...}. A backslash before anything else
/// that is no escape stays, as in Python.
std::optional<std::string> decode_escapes(std::string_view s);

}  // namespace troupe::llm::jinja
