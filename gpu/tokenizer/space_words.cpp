#include "gpu/tokenizer/space_words.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::llm {

namespace {

/// The first place from `from` on that is not in a run of spaces.
size_t behind_spaces(std::string_view text, size_t from) {
  while (text.substr(from).starts_with(space_symbol)) from += space_symbol.size();
  return from;
}

}  // namespace

void space_words::note(std::string_view piece) {
  for (auto at = behind_spaces(piece, 0); (at = piece.find(space_symbol, at)) != std::string_view::npos;
       at = behind_spaces(piece, at)) {
    const auto last = static_cast<uint8_t>(piece[at - 1]);
    if (last < ascii_.size())
      ascii_[last] = true;
    else
      others_ = true;
  }
}

size_t space_words::first(std::string_view text) const {
  for (auto at = behind_spaces(text, 0);; at = behind_spaces(text, at)) {
    at = std::min(text.find(space_symbol, at), text.size());
    if (at == text.size() || !joins(text[at - 1])) return at;
  }
}

bool space_words::joins(char last) const {
  const auto byte = static_cast<uint8_t>(last);
  return byte < ascii_.size() ? ascii_[byte] : others_;
}

}  // namespace troupe::llm
