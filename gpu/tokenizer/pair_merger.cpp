#include "gpu/tokenizer/pair_merger.hpp"

#include <algorithm>
#include <array>

namespace troupe::llm {

namespace {

/// Up to here the best pair is searched among all; the work for longer words must not grow with the square.
constexpr size_t max_short = 24;

}  // namespace

void pair_merger::append_short(std::span<const token> symbols, std::vector<token>& out) {
  constexpr merge_table::merge no_merge{UINT32_MAX, -1};
  std::array<token, max_short> ids;              // NOLINT: written before it is read
  std::array<merge_table::merge, max_short> by;  // NOLINT: of each symbol with the next one
  auto n = symbols.size();
  std::ranges::copy(symbols, ids.begin());
  const auto look_up = [&](size_t at) {
    const auto* m = merges_.find(ids[at], ids[at + 1]);
    by[at] = m == nullptr ? no_merge : *m;
  };
  for (size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (by[i].rank < by[best].rank) best = i;
    if (by[best].result < 0) break;
    ids[best] = by[best].result;
    for (auto i = best + 1; i + 1 < n; ++i) {
      ids[i] = ids[i + 1];
      by[i] = by[i + 1];
    }
    --n;
    if (best > 0) look_up(best - 1);
    if (best + 1 < n) look_up(best);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
}

void pair_merger::append(std::span<const token> symbols, std::vector<token>& out) {
  if (symbols.size() <= max_short) return append_short(symbols, out);
  symbols_.clear();
  for (const auto id : symbols) {
    const auto at = static_cast<int32_t>(symbols_.size());
    symbols_.push_back({id, at - 1, at + 1});
  }
  symbols_.back().next = none;
  for (int32_t at = 0; symbol(at).next != none; at = symbol(at).next) propose(at);
  while (!candidates_.empty()) {
    const auto best = candidates_.front();
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    candidates_.pop_back();
    apply(best);
  }
  for (int32_t at = 0; at != none; at = symbol(at).next) out.push_back(symbol(at).id);
}

void pair_merger::propose(int32_t left) {
  if (left == none || symbol(left).next == none) return;
  const auto* m = merges_.find(symbol(left).id, symbol(symbol(left).next).id);
  if (m == nullptr) return;
  candidates_.push_back({m->rank, left});
  std::push_heap(candidates_.begin(), candidates_.end(), later);
}

void pair_merger::apply(const candidate& c) {
  auto& left = symbol(c.left);
  if (left.merged || left.next == none) return;
  auto& right = symbol(left.next);
  const auto* m = merges_.find(left.id, right.id);
  if (m == nullptr || m->rank != c.rank) return;  // outdated: one of the symbols has changed since
  left.id = m->result;
  left.next = right.next;
  right.merged = true;
  if (left.next != none) symbol(left.next).previous = c.left;
  propose(left.previous);
  propose(c.left);
}

}  // namespace troupe::llm
