#include "config/reader.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "config/section_source.hpp"

namespace troupe {

namespace {

constexpr size_t max_key_parts = 256;  // as deep as toml++ lets values nest

/// The place of a key with more parts, if there is one: its tables would nest as deeply, and they are
/// destroyed recursively.
std::optional<toml::source_position> overlong_key(std::string_view text) {
  toml::source_position at{1, 1};
  size_t parts = 1;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++at.line, at.column = 1, parts = 1, quote = 0;
      continue;
    }
    if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'' || c == '#')  // a comment ends with its line
      quote = c == '#' ? '\n' : c;
    else if (c == '.')
      ++parts;
    else if (std::string_view("=,{}[]").find(c) != std::string_view::npos)
      parts = 1;
    if (parts > max_key_parts) return at;
    ++at.column;
  }
  return {};
}

}  // namespace

struct reader::document {
  toml::table root;
};

reader::reader(std::string_view text, std::string file)
    : file_(std::move(file)), document_(std::make_unique<document>()) {
  const auto fail = [&](const toml::source_position& at, std::string what) {
    syntax_error_ = true;
    problems_.push_back({place(file_, at), std::move(what)});
  };
  try {
    if (const auto at = overlong_key(text))
      fail(*at, fmt::format("a key has more than {} parts", max_key_parts));
    else
      document_->root = toml::parse(text, std::string_view{file_});
  } catch (const toml::parse_error& e) {
    fail(e.source().begin, fmt::format("not valid TOML: {}", e.description()));
  }
  sections_.emplace_back(
      new section{*this, std::make_unique<section::source>(&document_->root, file_position{file_, 1, 1}), "",
                  effective_});
}

reader::~reader() = default;

void reader::refuse(file_position where, std::string_view key, std::string_view what) {
  if (syntax_error_) return;
  problems_.push_back({std::move(where), key.empty() ? std::string{what} : fmt::format("{}: {}", key, what)});
}

void reader::refuse(std::vector<problem> problems) {
  for (auto& p : problems) problems_.push_back(std::move(p));
}

std::vector<problem> reader::finish() {
  for (const auto& s : sections_) {
    if (!s->from_->table) continue;
    std::vector<std::string_view> known{s->asked_.begin(), s->asked_.end()};
    for (const auto& [key, value] : *s->from_->table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      refuse(place(file_, key.source().begin), s->path_,
             fmt::format("unknown key '{}'{}", key.str(), hint(key.str(), known)));
    }
  }
  std::stable_sort(problems_.begin(), problems_.end(), [&](const problem& a, const problem& b) {
    const auto order = [&](const problem& p) {
      return std::tuple{p.where.file != file_, std::string_view{p.where.file}, p.where.line, p.where.column};
    };
    return order(a) < order(b);
  });
  return std::move(problems_);
}

}  // namespace troupe
