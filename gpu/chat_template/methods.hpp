// The methods of values: texts, lists, dicts and loops.
#pragma once
#include <string_view>

#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

enum class method_kind : uint8_t {
  none,         // the type has no such attribute
  supported,    // call_method() knows it
  unsupported,  // Python's type has it, but it is not supported here
  changes,      // mutates its object: jinja2's immutable sandbox refuses the call
};

method_kind method_of(const value& v, std::string_view name);

/// True if the name is only a method of Python that is unsupported for values of every type.
bool is_unsupported_method(std::string_view name);

std::string method_names();

/// Throws refusal for wrong arguments.
value call_method(const bound_method& m, const arguments& a, budget& cost);

}  // namespace troupe::llm::jinja
