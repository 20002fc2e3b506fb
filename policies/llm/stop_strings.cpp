#include "policies/llm/stop_strings.hpp"

#include <algorithm>

namespace troupe {

stop_strings::stop_strings(const std::vector<std::string>& stops, bool include) : include_(include) {
  for (const auto& stop : stops) {
    if (stop.empty()) continue;
    search s{stop, std::vector<uint32_t>(stop.size()), 0};
    uint32_t border = 0;
    for (size_t i = 1; i < stop.size(); ++i) {
      while (border > 0 && stop[i] != stop[border]) border = s.borders[border - 1];
      if (stop[i] == stop[border]) ++border;
      s.borders[i] = border;
    }
    searches_.push_back(std::move(s));
  }
}

void stop_strings::search::advance(char c) {
  while (matched > 0 && c != stop[matched]) matched = borders[matched - 1];
  if (c == stop[matched]) ++matched;
}

const stop_strings::search* stop_strings::longest() const {
  const search* best = nullptr;
  for (const auto& s : searches_)
    if (s.matched > (best ? best->matched : 0)) best = &s;
  return best;
}

std::string stop_strings::add(std::string_view piece) {
  if (found_) return {};
  // The withheld text is a prefix of a stop string; the piece follows it.
  const auto* held = longest();
  const auto before = held ? std::string_view(held->stop).substr(0, held->matched) : std::string_view();
  const auto beginning = [&](size_t size) {
    const auto first = std::min(size, before.size());
    std::string text(before, 0, first);
    return text.append(piece, 0, size - first);
  };
  for (size_t i = 0; i < piece.size(); ++i) {
    size_t complete = 0;
    for (auto& s : searches_) {
      s.advance(piece[i]);
      if (s.matched == s.stop.size()) complete = std::max(complete, s.matched);
    }
    if (complete == 0) continue;
    found_ = true;
    return beginning(before.size() + i + 1 - (include_ ? 0 : complete));
  }
  const auto* may_begin = longest();
  return beginning(before.size() + piece.size() - (may_begin ? may_begin->matched : 0));
}

std::string stop_strings::finish() {
  const auto* held = found_ ? nullptr : longest();
  std::string text = held ? held->stop.substr(0, held->matched) : std::string();
  for (auto& s : searches_) s.matched = 0;
  return text;
}

}  // namespace troupe
