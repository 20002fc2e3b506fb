// Parses a template into its AST.
#pragma once
#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/source.hpp"

namespace troupe::llm::jinja {

/// Throws template_error with line and column for invalid or unsupported Jinja.
body parse(const source& s);

}  // namespace troupe::llm::jinja
