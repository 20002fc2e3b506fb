#include "gpu/tokenizer/piece_trie.hpp"

#include <algorithm>

namespace troupe::llm {

namespace {

constexpr size_t all_bytes = 256;

/// As strings are compared: by unsigned bytes.
uint8_t byte_at(const piece_trie::entry& e, size_t depth) { return static_cast<uint8_t>(e.first[depth]); }

}  // namespace

piece_trie::piece_trie(std::vector<entry> entries) : units_(2 * all_bytes) {
  std::ranges::sort(entries);
  units_[0].parent = 0;
  // the root is its own parent, but no step leads to it: bases are positive
  add_children(0, entries, 0);
  units_.shrink_to_fit();
}

/// `entries`: sorted, all longer than `depth`, equal up to there.
void piece_trie::add_children(int32_t node, std::span<const entry> entries, size_t depth) {
  std::vector<uint8_t> bytes;
  for (const auto& e : entries)
    if (bytes.empty() || bytes.back() != byte_at(e, depth)) bytes.push_back(byte_at(e, depth));
  if (bytes.empty()) return;
  const auto base = find_base(bytes);
  units_[static_cast<size_t>(node)].base = static_cast<int32_t>(base);
  for (const auto b : bytes) units_[base + b].parent = node;
  for (const auto b : bytes) {
    const auto after = std::ranges::find_if(entries, [&](const entry& e) { return byte_at(e, depth) != b; });
    auto group = entries.first(static_cast<size_t>(after - entries.begin()));
    entries = entries.subspan(group.size());
    const auto child = base + b;
    if (group.front().first.size() == depth + 1) {
      units_[child].value = group.front().second;
      group = group.subspan(1);
    }
    add_children(static_cast<int32_t>(child), group, depth + 1);
  }
}

/// A positive base at which the places of all bytes are free.
size_t piece_trie::find_base(std::span<const uint8_t> bytes) {
  const auto is_free = [&](size_t at) {
    if (at + all_bytes >= units_.size()) units_.resize(std::max(2 * units_.size(), at + 2 * all_bytes));
    return units_[at].parent < 0;
  };
  size_t taken = 0;
  const auto begin = std::max<size_t>(first_free_, bytes.front() + size_t{1});
  for (auto at = begin;; ++at) {
    if (!is_free(at)) {
      ++taken;
      continue;
    }
    const auto base = at - bytes.front();
    if (!std::ranges::all_of(bytes, [&](uint8_t b) { return is_free(base + b); })) continue;
    // as in Darts: a stretch that is nearly full is not searched again
    if (taken * 20 >= (at - begin + 1) * 19) first_free_ = std::max(first_free_, at);
    return base;
  }
}

}  // namespace troupe::llm
