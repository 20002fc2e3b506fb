#include "transport/memory/slot_pool.hpp"

#include <algorithm>
#include <atomic>

#include "transport/common/fence.hpp"
#include "transport/common/lazy_memory.hpp"
#include "transport/memory/pull_check.hpp"

namespace troupe {
namespace {

constexpr uint64_t alignment = 64;
/// Slots begin here, and at multiples of the alignment from here, so that payloads are aligned.
constexpr uint64_t first_offset = alignment - sizeof(slot_words);

/// Memory is taken in pieces of this size: small enough for a short wait, large enough to be rare.
constexpr uint64_t growth = 1u << 20;

/// Maximum of kept slots per size.
constexpr size_t max_free_slots = 1024;

void store(std::byte* at, uint64_t value) {
  std::atomic_ref(*reinterpret_cast<uint64_t*>(at)).store(value, std::memory_order_relaxed);
}

}  // namespace

slot_pool::slot_pool(node_id self, incarnation_id incarnation, registered_memory memory)
    : self_(self), memory_(memory), incarnation_(incarnation), present_(first_offset) {
  if (memory.bytes.size() < first_offset + alignment) return;
  capacity_ = (memory.bytes.size() - first_offset) / alignment * alignment;
}

uint64_t slot_pool::block_bytes(uint64_t size) {
  return (slot_tail(size) + sizeof(slot_words) + alignment - 1) / alignment * alignment;
}

std::optional<slot> slot_pool::take(uint64_t size) {
  if (size > capacity_) return std::nullopt;
  const uint64_t bytes = block_bytes(size);
  std::lock_guard lock(mutex_);
  uint64_t offset = 0;
  if (auto* const kept = kept_.find(bytes); kept != nullptr && !kept->empty()) {
    offset = kept->back();
    kept->pop_back();
  } else {
    const auto find = [&] { return free_by_size_.lower_bound({bytes, 0}); };
    auto best = find();
    if (best == free_by_size_.end() && merge_kept()) best = find();
    if (best == free_by_size_.end() && grow(bytes)) best = find();
    if (best == free_by_size_.end()) return std::nullopt;
    const auto [found_bytes, found] = *best;
    offset = found;
    remove_free(free_.find(offset));
    if (found_bytes > bytes) add_free(offset + bytes, found_bytes - bytes);
  }
  const uint64_t generation = ++last_generation_;
  live_.add(generation, {incarnation_, offset, size});
  in_use_ += bytes;
  write_words(offset, size, incarnation_.value, generation);
  return slot{{self_, incarnation_, memory_.kind, offset, size, generation},
              memory_.bytes.subspan(offset + sizeof(slot_words), size)};
}

bool slot_pool::give_back(const region_ref& region) {
  std::lock_guard lock(mutex_);
  if (!is_live(region)) return false;
  // Before these bytes can be taken again: a slot that is not in use never has words that a reader could
  // expect.
  write_words(region.offset, region.size, 0, 0);
  live_.erase(region.generation);
  const uint64_t bytes = block_bytes(region.size);
  in_use_ -= bytes;
  if (auto& kept = kept_.add(bytes, {}); kept.size() < max_free_slots)
    kept.push_back(region.offset);
  else
    merge_free(region.offset, bytes);
  return true;
}

/// Takes more of the memory, for a block of `bytes` at its end. False if there is not as much.
bool slot_pool::grow(uint64_t bytes) {
  const auto last = free_.empty() ? free_.end() : std::prev(free_.end());
  const bool extends = last != free_.end() && last->first + last->second == present_;
  const uint64_t missing = extends ? bytes - last->second : bytes;
  const uint64_t left = first_offset + capacity_ - present_;
  if (missing > left) return false;
  const uint64_t more = std::min(std::max(missing, growth), left);
  if (!make_present(memory_.bytes.subspan(present_, more))) return false;
  merge_free(present_, more);
  present_ += more;
  return true;
}

/// False if there was nothing to merge.
bool slot_pool::merge_kept() {
  bool any = false;
  for (const auto& [bytes, offsets] : kept_.entries()) {
    any = any || !offsets.empty();
    for (const auto offset : offsets) merge_free(offset, bytes);
  }
  kept_.clear();
  return any;
}

void slot_pool::merge_free(uint64_t offset, uint64_t bytes) {
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove_free(before);
    }
  }
  if (after != free_.end() && offset + bytes == after->first) {
    bytes += after->second;
    remove_free(after);
  }
  add_free(offset, bytes);
}

void slot_pool::renew(incarnation_id incarnation) {
  std::lock_guard lock(mutex_);
  incarnation_ = incarnation;
}

uint64_t slot_pool::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

uint64_t slot_pool::present() const {
  std::lock_guard lock(mutex_);
  return present_;
}

size_t slot_pool::slots() const {
  std::lock_guard lock(mutex_);
  return live_.size();
}

bool slot_pool::is_live(const region_ref& region) const {
  if (region.node != self_) return false;
  const auto* found = live_.find(region.generation);
  return found != nullptr && found->owner == region.owner && found->offset == region.offset &&
         found->size == region.size;
}

/// Writes the words at both ends, before the caller changes the bytes between them. The release fence (and
/// the mutex, for the next taker) keeps that order for readers that read the words last, after an acquire
/// fence.
void slot_pool::write_words(uint64_t offset, uint64_t size, uint64_t owner, uint64_t generation) {
  std::byte* const head = memory_.bytes.data() + offset;
  std::byte* const tail = head + slot_tail(size);
  for (std::byte* at : {head, tail}) {
    store(at + offsetof(slot_words, generation), generation);
    store(at + offsetof(slot_words, owner), owner);
  }
  write_fence();
}

void slot_pool::add_free(uint64_t offset, uint64_t bytes) {
  free_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void slot_pool::remove_free(std::map<uint64_t, uint64_t>::iterator block) {
  free_by_size_.erase({block->second, block->first});
  free_.erase(block);
}

}  // namespace troupe
