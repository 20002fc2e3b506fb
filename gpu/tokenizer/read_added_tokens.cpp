#include "gpu/tokenizer/read_added_tokens.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

namespace troupe::llm {

std::vector<added_token> read_added_tokens(const json_place& root) {
  std::vector<added_token> tokens;
  std::unordered_set<std::string_view> contents;
  std::unordered_set<token> ids;
  const auto list = root.find("added_tokens");
  for (size_t i = 0; list && i < list->array().size(); ++i) {
    const auto place = list->element(i);
    const auto& content = place.at("content").string();
    if (content.empty() || content.size() > longest_added_token)
      place.refuse(fmt::format("has a content of {} bytes: it must have 1 to {}", content.size(),
                               longest_added_token));
    const auto id = place.at("id").id();
    if (!contents.insert(content).second)
      place.refuse(fmt::format("is '{}', like an earlier token", content));
    if (!ids.insert(id).second) place.refuse(fmt::format("has the id {}, like an earlier token", id));
    const bool special = place.boolean("special", false);
    tokens.push_back({id, content, special, place.boolean("single_word", false),
                      place.boolean("lstrip", false), place.boolean("rstrip", false),
                      place.boolean("normalized", !special)});
  }
  return tokens;
}

}  // namespace troupe::llm
