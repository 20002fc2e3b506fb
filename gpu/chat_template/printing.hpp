// Conversion of values to text: the output of {{ }}, Python's repr, and json.dumps.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// Python's repr of a float: the shortest digits that round-trip.
std::string number_text(double d);

/// Python's str(); undefined gives an empty text. Throws refusal for objects that Python prints with an
/// address.
std::string to_text(const value& v, budget& cost);

/// Python's repr(). Throws refusal as to_text().
std::string to_repr(const value& v, budget& cost);

struct json_style {
  bool ascii = false;
  std::optional<std::string> indent;  // of one level; none: on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// Python's json.dumps. Throws refusal for values without a JSON form.
std::string to_json(const value& v, const json_style& style, budget& cost);

}  // namespace troupe::llm::jinja
