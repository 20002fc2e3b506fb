// Values as text: what {{ }} prints, Python's repr, and json.dumps.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// Python's repr of a float: the shortest digits that give it back.
std::string number_text(double d);

/// Python's str(): of a text itself, of undefined nothing. Throws refusal for what Python prints with an
/// address.
std::string to_text(const value& v, budget& cost);

struct json_style {
  bool ascii = false;
  std::optional<std::string> indent;  // one level of it; none: on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// Python's json.dumps. Throws refusal for what is no JSON.
std::string to_json(const value& v, const json_style& style, budget& cost);

}  // namespace troupe::llm::jinja
