#include "gpu/tokenizer/wordpiece.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::llm {
namespace {

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

}  // namespace

wordpiece::wordpiece(options o) : options_(std::move(o)) {
  for (const auto& [text, _] : options_.vocabulary) longest_token_ = std::max(longest_token_, text.size());
}

void wordpiece::append(std::string_view word, std::vector<token>& to) const {
  const auto before = to.size();
  const auto unknown = [&] {
    to.resize(before);
    to.push_back(options_.unknown);
  };
  if (characters_of(word) > options_.longest_word) return unknown();
  std::string candidate;
  for (size_t from = 0; from < word.size();) {
    candidate = from == 0 ? "" : options_.inner_prefix;
    const auto prefix = candidate.size();
    candidate += word.substr(from, longest_token_);
    auto found = options_.vocabulary.end();
    while (candidate.size() > prefix) {
      const bool whole = from + candidate.size() - prefix == word.size() ||
                         !continues_character(word[from + candidate.size() - prefix]);
      if (whole) found = options_.vocabulary.find(candidate);
      if (found != options_.vocabulary.end()) break;
      candidate.pop_back();
    }
    if (found == options_.vocabulary.end()) return unknown();
    to.push_back(found->second);
    from += candidate.size() - prefix;
  }
}

}  // namespace troupe::llm
