// The methods of texts, lists, dicts and loops.
#pragma once
#include <string_view>

#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

enum class method_kind : uint8_t {
  none,         // the type has no such attribute
  supported,    // call_method() knows it
  unsupported,  // Python's type has it, and we do not
  changes,      // changes its object: jinja2's immutable sandbox refuses the call
};

method_kind method_of(const value& v, std::string_view name);

/// A name that only types of Python have which nobody may call here, on whatever value.
bool is_unsupported_method(std::string_view name);

std::string method_names();

/// Throws refusal for wrong arguments.
value call_method(const bound_method& m, const arguments& a, budget& cost);

}  // namespace troupe::llm::jinja
