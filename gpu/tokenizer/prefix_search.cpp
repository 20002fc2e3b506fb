#include "gpu/tokenizer/prefix_search.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::llm {

prefix_search::prefix_search(std::vector<std::string> strings) {
  for (size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].empty()) continue;
    first_bytes_[static_cast<uint8_t>(strings[i].front())] = true;
    sorted_.push_back({std::move(strings[i]), i});
  }
  std::ranges::stable_sort(sorted_, {}, &entry::content);
  if (!sorted_.empty() && sorted_.front().content.front() == sorted_.back().content.front())
    only_first_byte_ = sorted_.front().content.front();
}

std::optional<prefix_search::match> prefix_search::longest(std::string_view text) const {
  if (text.empty() || !first_bytes_[static_cast<uint8_t>(text.front())]) return std::nullopt;
  std::optional<match> found;
  auto from = sorted_.begin(), to = sorted_.end();
  for (size_t depth = 0; depth < text.size() && from != to; ++depth) {
    // strings that match up to here, by their next byte; those that end here come first
    const auto byte = [&](const entry& e) {
      return depth < e.content.size() ? static_cast<uint8_t>(e.content[depth]) : -1;
    };
    const int wanted = static_cast<uint8_t>(text[depth]);
    from = std::partition_point(from, to, [&](const entry& e) { return byte(e) < wanted; });
    to = std::partition_point(from, to, [&](const entry& e) { return byte(e) <= wanted; });
    if (from != to && from->content.size() == depth + 1) found = match{from->which, depth + 1};
  }
  return found;
}

size_t prefix_search::next(std::string_view text, size_t from) const {
  if (empty()) return text.size();
  if (only_first_byte_) return std::min(text.find(*only_first_byte_, from), text.size());
  while (from < text.size() && !first_bytes_[static_cast<uint8_t>(text[from])]) ++from;
  return from;
}

}  // namespace troupe::llm
