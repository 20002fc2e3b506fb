// Parses a template.
#pragma once
#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/source.hpp"

namespace troupe::llm::jinja {

/// Throws model_error with line and column for what is no Jinja, or more of it than is supported.
body parse(const source& s);

}  // namespace troupe::llm::jinja
