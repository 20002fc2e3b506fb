#include "gpu/tokenizer/added_tokens.hpp"

#include <algorithm>
#include <cstdint>

#include "gpu/tokenizer/split_pattern.hpp"

namespace troupe::llm {

namespace {

const split_pattern& word_begins() {
  static const split_pattern pattern(R"(\A[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])");
  return pattern;
}

const split_pattern& space_begins() {
  static const split_pattern pattern(R"(\A[\p{Z}\x{09}-\x{0d}\x{85}]+)");
  return pattern;
}

/// Requires: `text` is UTF-8 and not empty.
std::string_view last_character(std::string_view text) {
  auto from = text.size() - 1;
  while (from > 0 && (static_cast<uint8_t>(text[from]) & 0xc0) == 0x80) --from;
  return text.substr(from);
}

bool is_in_word(std::string_view text, size_t begin, size_t end) {
  const auto before = text.substr(0, begin), after = text.substr(end);
  return (!before.empty() && word_begins().find(last_character(before))) ||
         (!after.empty() && word_begins().find(after));
}

/// Begin of the white space before `end`, at the earliest `min`.
size_t space_before(std::string_view text, size_t min, size_t end) {
  while (end > min) {
    const auto c = last_character(text.substr(min, end - min));
    if (!space_begins().find(c)) break;
    end -= c.size();
  }
  return end;
}

size_t space_after(std::string_view text, size_t begin) {
  const auto found = space_begins().find(text.substr(begin));
  return found ? begin + found->end : begin;
}

}  // namespace

added_tokens::added_tokens(std::vector<added_token> tokens,
                           const std::function<std::string(std::string_view)>& normalize)
    : tokens_(std::move(tokens)) {
  std::vector<std::string> raw, normalized;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const auto& t = tokens_[i];
    by_id_.emplace(t.id, i);
    by_content_.emplace(t.content, i);
    auto& to = t.normalized ? normalized_ : raw_;
    to.tokens.push_back(i);
    (t.normalized ? normalized : raw).push_back(t.normalized ? normalize(t.content) : t.content);
  }
  raw_.names = prefix_search(std::move(raw));
  normalized_.names = prefix_search(std::move(normalized));
}

std::vector<added_tokens::part> added_tokens::split(std::string_view text, bool normalized,
                                                    bool parse_special) const {
  std::vector<part> parts;
  size_t done = 0;
  const auto text_until = [&](size_t end) {
    if (end > done) parts.push_back({text.substr(done, end - done), std::nullopt});
  };
  const auto& of = normalized ? normalized_ : raw_;
  for (size_t at = 0; (at = of.names.next(text, at)) < text.size();) {
    const auto found = of.names.longest(text.substr(at));
    if (!found) {
      ++at;
      continue;
    }
    const auto& t = tokens_[of.tokens[found->which]];
    size_t begin = at, end = at + found->size;
    at = end;
    if ((t.special && !parse_special) || (t.single_word && is_in_word(text, begin, end))) continue;
    if (t.lstrip) begin = space_before(text, done, begin);
    if (t.rstrip) end = space_after(text, end);
    text_until(begin);
    parts.push_back({text.substr(begin, end - begin), t.id});
    done = std::max(done, end);  // a token may begin within the spaces that the previous one stripped
  }
  text_until(text.size());
  return parts;
}

const added_token* added_tokens::find(token id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const added_token* added_tokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace troupe::llm
