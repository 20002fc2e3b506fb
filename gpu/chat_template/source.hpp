// The text of a template, and places in it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/chat_template/template_error.hpp"

namespace troupe::llm::jinja {

using place = uint32_t;  // byte offset in the source

struct source {
  std::string name;  // for messages
  std::string text;  // lines end in \n, except the last one
};

/// Throws template_error if the text is too long or not UTF-8.
source read_source(std::string_view text, const std::string& name);

/// "line 3, column 14", in code points.
std::string describe(const source& s, place at);

/// Throws template_error: "name: what (line 3, column 14)hint".
[[noreturn]] void fail(const source& s, place at, std::string_view what, std::string_view hint = "");

}  // namespace troupe::llm::jinja
