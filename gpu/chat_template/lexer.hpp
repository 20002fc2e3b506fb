// Splits a template into tokens: the text between tags, with white space trimmed, and the content of tags.
// trim_blocks and lstrip_blocks are on, as in Transformers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/chat_template/source.hpp"

namespace troupe::llm::jinja {

enum class token_kind : uint8_t {
  data,         // text to print
  print_begin,  // {{
  print_end,    // }}
  block_begin,  // {%
  block_end,    // %}
  name,
  string,  // text without quotes and escapes
  integer,
  real,
  symbol,
  end,  // of the template
};

struct token {
  token_kind kind;
  place at;
  std::string text;
};

/// The last one is `end`. Throws template_error.
std::vector<token> tokenize(const source& s);

}  // namespace troupe::llm::jinja
