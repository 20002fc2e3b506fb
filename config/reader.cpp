#include "config/reader.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

#include "config/section_source.hpp"

namespace troupe {

struct reader::document {
  toml::table root;
};

reader::reader(std::string_view text, std::string file)
    : file_(std::move(file)), document_(std::make_unique<document>()) {
  try {
    document_->root = toml::parse(text, std::string_view{file_});
  } catch (const toml::parse_error& e) {
    syntax_error_ = true;
    problems_.push_back({place(file_, e.source().begin), fmt::format("not valid TOML: {}", e.description())});
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
