// Python's format(): a value as text, laid out by a specifier such as ">8", "05d" or ".2f".
#pragma once
#include <string>
#include <string_view>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// Supports fill, alignment, sign, #, 0, width, grouping, precision, and the types s; d, b, o, x, X; e, E, f,
/// F, g, G and %. Throws refusal where Python throws, and for the types c and n, the option z, grouping
/// together with leading zeros, and a precision without a type of floats.
std::string format_value(const value& v, std::string_view spec, budget& cost);

}  // namespace troupe::llm::jinja
