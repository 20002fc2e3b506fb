// Python's str.format, as jinja2's sandbox runs it.
#pragma once
#include <string>
#include <string_view>

#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// Replaces the fields of `format`: {}, {0}, {name}, {0.name}, {name[key]}, the conversions !s and !r, and
/// specifiers (format_spec.hpp), which may hold fields themselves. Throws refusal where Python throws.
std::string format_string(std::string_view format, const arguments& a, budget& cost);

}  // namespace troupe::llm::jinja
