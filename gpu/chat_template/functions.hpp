// The global functions of templates: range, namespace, dict, raise_exception, strftime_now.
#pragma once
#include <optional>
#include <string_view>

#include "gpu/chat_template/session.hpp"
#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

std::optional<global_function> find_function(std::string_view name);

/// Throws refusal for an attribute that a namespace must not have: a private one, as in Transformers.
void check_attribute(std::string_view name);

/// Throws refusal; raise_exception always does.
value call_function(global_function f, const arguments& a, session& s);

}  // namespace troupe::llm::jinja
