#pragma once
#include <string_view>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// Python's json.loads, without its NaN and Infinity. Throws refusal if the text is not JSON, or nests deeper
/// than values may, or has a number out of range.
value read_json_text(std::string_view text, budget& cost);

}  // namespace troupe::llm::jinja
