#include "config/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

std::string to_string(const file_position& p) {
  return p.line ? fmt::format("{}:{}:{}", p.file, p.line, p.column) : p.file;
}

problem about_file(std::string file, std::string text) { return {{std::move(file), 0, 0}, std::move(text)}; }

std::string to_string(const problem& p) { return one_line(to_string(p.where) + ": " + p.text); }

std::string one_line(std::string text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace troupe
