#include "gpu/chat_template/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr size_t max_template_bytes = 256 << 10;  // the longest ones in use have 20 KB

}  // namespace

source read_source(std::string_view text, const std::string& name) {
  if (text.size() > max_template_bytes) {
    throw template_error(fmt::format("{}: a chat template of {} bytes; at most {} are read", name,
                                     text.size(), max_template_bytes));
  }
  source out{name, {}};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out.text += text[i] == '\r' ? '\n' : text[i];
  }
  if (out.text.ends_with('\n')) out.text.pop_back();
  if (!text::is_utf8(out.text))
    throw template_error(fmt::format("{}: the chat template is not UTF-8: convert it", name));
  return out;
}

std::string describe(const source& s, place at) {
  const auto before = std::string_view(s.text).substr(0, at);
  const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     text::length(before.substr(line_begin)) + 1);
}

void fail(const source& s, place at, std::string_view what, std::string_view hint) {
  throw template_error(fmt::format("{}: {} ({}){}", s.name, what, describe(s, at), hint));
}

}  // namespace troupe::llm::jinja
