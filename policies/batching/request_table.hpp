// The requests that a model queue has, queued and in flight, by the handles that its batching policy uses.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/poison_retry_queue.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// A released handle is used again: the latest first, or, if released requests are remembered, once that many
/// others have been released after it.
class request_table {
 public:
  struct entry {
    request what;                               ///< id 0: its gateway is gone
    time_point taken_at{};                      ///< by the queue
    uint32_t rows_ahead = 0;                    ///< queued when it came
    uint32_t returned = 0;                      ///< how often a worker gave it back
    worker_loss last_loss = worker_loss::none;  ///< of a worker that had it
  };

  uint32_t add(const entry& e) {
    if (free_.empty()) {
      entries_.push_back(e);
      states_.push_back(state::held);
      return static_cast<uint32_t>(entries_.size() - 1);
    }
    const auto handle = free_.back();
    free_.pop_back();
    have_in_cache();
    entries_[handle] = e;
    states_[handle] = state::held;
    return handle;
  }
  /// Does not touch the entry, which has left the cache long ago.
  void release(uint32_t handle) {
    if (released_.capacity() == 0) return forget(handle);
    states_[handle] = state::remembered;
    if (released_.size() == released_.capacity()) forget(released_[0]);
    released_.push(handle);
  }
  /// Remembers so many released requests for `find`, and forgets those that are remembered now.
  void remember(uint32_t released) {
    for (size_t i = 0; i < released_.size(); ++i) forget(released_[i]);
    released_ = recent_ring<uint32_t>(released);
  }
  /// The handle of a request that is held or remembered; of several, the latest. O(handles).
  std::optional<uint32_t> find(request_id id) const {
    std::optional<uint32_t> out;
    const auto age = [&](uint32_t h) { return std::pair(holds(h), entries_[h].taken_at); };
    for (uint32_t h = 0; h < entries_.size(); ++h)
      if (states_[h] != state::free && entries_[h].what.id == id && (!out || age(*out) < age(h))) out = h;
    return out;
  }
  /// The request is not released.
  bool holds(uint32_t handle) const { return states_[handle] == state::held; }
  void release_all() {
    for (uint32_t h = 0; h < entries_.size(); ++h)
      if (holds(h)) release(h);
  }

  request& operator[](uint32_t handle) { return entries_[handle].what; }
  const request& operator[](uint32_t handle) const { return entries_[handle].what; }
  entry& all_of(uint32_t handle) { return entries_[handle]; }
  const entry& all_of(uint32_t handle) const { return entries_[handle]; }

  /// Calls `f(handle, request)` for each held request with a gateway.
  template <class F>
  void for_each(F&& f) {
    for (uint32_t h = 0; h < entries_.size(); ++h)
      if (holds(h) && entries_[h].what.id != request_id{}) f(h, entries_[h].what);
  }
  template <class F>
  void for_each(F&& f) const {
    for (uint32_t h = 0; h < entries_.size(); ++h)
      if (holds(h) && entries_[h].what.id != request_id{}) f(h, entries_[h].what);
  }
  /// One more than the largest handle.
  size_t handles() const { return entries_.size(); }

 private:
  enum class state : uint8_t { free, held, remembered };

  void forget(uint32_t handle) {
    states_[handle] = state::free;
    free_.push_back(handle);
  }
  /// Prefetches an entry that is written soon and was last touched long ago.
  void have_in_cache() const {
    constexpr size_t ahead = 8, line = 64;
    if (free_.size() < ahead) return;
    const auto* at = reinterpret_cast<const char*>(&entries_[free_[free_.size() - ahead]]);
    for (size_t i = 0; i < sizeof(entry); i += line) __builtin_prefetch(at + i, 1);
  }

  std::vector<entry> entries_;
  std::vector<state> states_;
  std::vector<uint32_t> free_;
  recent_ring<uint32_t> released_;  // remembered
};

}  // namespace troupe
