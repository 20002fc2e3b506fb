#include "policies/llm/prefix_index.hpp"

#include <algorithm>
#include <utility>

namespace troupe::llm {
namespace {

constexpr size_t first_capacity = 64;

}  // namespace

prefix_index::prefix_index(size_t engines)
    : engines_(engines),
      words_((engines + word_bits - 1) / word_bits),
      keys_(first_capacity),
      masks_(first_capacity * words_),
      depths_(engines) {}

bool prefix_index::empty(size_t at) const {
  const auto mask = std::span(masks_).subspan(at * words_, words_);
  return std::ranges::all_of(mask, [](word w) { return w == 0; });
}

size_t prefix_index::find(uint64_t block) const {
  for (auto at = slot_of(block); !empty(at); at = (at + 1) & (capacity() - 1))
    if (keys_[at] == block) return at;
  return none;
}

void prefix_index::grow() {
  auto keys = std::exchange(keys_, std::vector<uint64_t>(2 * capacity()));
  auto masks = std::exchange(masks_, std::vector<word>(keys_.size() * words_));
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto mask = std::span(masks).subspan(i * words_, words_);
    if (std::ranges::all_of(mask, [](word w) { return w == 0; })) continue;
    auto at = slot_of(keys[i]);
    while (!empty(at)) at = (at + 1) & (capacity() - 1);
    keys_[at] = keys[i];
    std::ranges::copy(mask, holders(at).begin());
  }
}

void prefix_index::add(size_t engine, uint64_t block) {
  auto at = find(block);
  if (at == none) {
    if (2 * ++used_ > capacity()) grow();
    at = slot_of(block);
    while (!empty(at)) at = (at + 1) & (capacity() - 1);
    keys_[at] = block;
  }
  holders(at)[engine / word_bits] |= word{1} << engine % word_bits;
}

void prefix_index::remove(size_t engine, uint64_t block) {
  const auto at = find(block);
  if (at == none) return;
  holders(at)[engine / word_bits] &= ~(word{1} << engine % word_bits);
  if (empty(at)) erase(at);
}

/// Moves later keys of the run into the gap, if their own slot is not behind it. Requires: the slot is empty.
void prefix_index::erase(size_t at) {
  --used_;
  auto gap = at;
  for (auto next = (at + 1) & (capacity() - 1); !empty(next); next = (next + 1) & (capacity() - 1)) {
    const auto wanted = slot_of(keys_[next]);
    const auto from_wanted = (next - wanted) & (capacity() - 1), from_gap = (next - gap) & (capacity() - 1);
    if (from_wanted < from_gap) continue;
    keys_[gap] = keys_[next];
    std::ranges::copy(holders(next), holders(gap).begin());
    std::ranges::fill(holders(next), word{0});
    gap = next;
  }
}

void prefix_index::clear(size_t engine) {
  std::vector<uint64_t> held;
  for (size_t at = 0; at < capacity(); ++at)
    if ((holders(at)[engine / word_bits] >> engine % word_bits & 1) != 0) held.push_back(keys_[at]);
  for (const auto block : held) remove(engine, block);
}

/// The engines that hold the first `depth` blocks of the prompt; false: none does. Requires: `depth` > 0.
bool prefix_index::read(std::span<const uint64_t> prompt, size_t depth, std::span<word> into) {
  const auto at = find(prompt[depth - 1]);
  if (at == none) return false;
  std::ranges::copy(holders(at), into.begin());
  return true;
}

std::span<const uint32_t> prefix_index::longest(std::span<const uint64_t> prompt) {
  std::ranges::fill(depths_, 0u);
  if (prompt.empty() || used_ == 0) return depths_;
  size_t known = 0, end = prompt.size() + 1;  // some engine holds `known` blocks, none holds `end`
  while (end - known > 1) {
    const auto middle = known == 0 ? std::min(end - 1, size_t{1}) : known + (end - known) / 2;
    (find(prompt[middle - 1]) != none ? known : end) = middle;
  }
  if (known > 0) split(prompt, 0, known);
  return depths_;
}

/// Engines that hold `end` blocks have that depth; the others' are in [first, end).
void prefix_index::split(std::span<const uint64_t> prompt, size_t first, size_t end) {
  std::vector<word> deep(words_), shallow(words_);
  read(prompt, end, deep);
  for (size_t e = 0; e < engines_; ++e)
    if ((deep[e / word_bits] >> e % word_bits & 1) != 0 && depths_[e] < end)
      depths_[e] = static_cast<uint32_t>(end);
  if (end - first <= 1) return;
  // the greatest depth below `end` at which there are more engines
  size_t same = end, more = first;
  while (same - more > 1) {
    const auto middle = more + (same - more) / 2;
    const bool known = read(prompt, middle, shallow);
    (known && shallow == deep ? same : more) = middle;
  }
  if (more > first) split(prompt, first, more);
}

}  // namespace troupe::llm
