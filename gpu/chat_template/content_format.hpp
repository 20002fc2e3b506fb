// The form in which a chat template takes the content of messages: one text, or a list of parts.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace troupe::llm {

enum class content_format : uint8_t {
  text,   ///< the template prints contents
  parts,  ///< it loops over the parts of contents
  either  ///< it loops over parts, and tests whether a content is a text
};

/// The messages of a chat in that form. `content` is a text, or a list of {"type": "text", "text": ...}.
/// Parts are joined with line ends for a template that prints contents. A text becomes one part for a
/// template that only loops.
nlohmann::ordered_json with_contents(nlohmann::ordered_json messages, content_format format);

}  // namespace troupe::llm
