// The requests of a model queue, waiting and in flight, by handle.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/poison_retry_queue.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// Released handles are reused, the latest first. If released requests are remembered, a handle is reused
/// only after that many later releases.
class request_table {
 public:
  struct entry {
    request what;             ///< id 0: the gateway is gone
    time_point taken_at{};    ///< arrival at the queue
    uint32_t rows_ahead = 0;  ///< queued at its arrival
    uint32_t returned = 0;    ///< number of returns from workers
    request_id was = {};      ///< its id, if the gateway is gone
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
  /// Does not read the entry, which is no longer in the cache.
  void release(uint32_t handle) {
    if (released_.capacity() == 0) return forget(handle);
    states_[handle] = state::remembered;
    if (released_.size() == released_.capacity()) forget(released_[0]);
    released_.push(handle);
  }
  /// Sets the number of released requests that `find` still finds, and forgets those known now.
  void remember(uint32_t released) {
    for (size_t i = 0; i < released_.size(); ++i) forget(released_[i]);
    released_ = recent_ring<uint32_t>(released);
  }
  /// Handle of a held or remembered request; if there are several, of a held one, then of the latest.
  /// O(handles).
  std::optional<uint32_t> find(request_id id) const {
    std::optional<uint32_t> out;
    const auto age = [&](uint32_t h) { return std::pair(holds(h), entries_[h].taken_at); };
    for (uint32_t h = 0; h < entries_.size(); ++h)
      if (states_[h] != state::free && entries_[h].what.id == id && (!out || age(*out) < age(h))) out = h;
    return out;
  }
  /// Whether the request is not released.
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
  /// Upper bound (exclusive) of the handles.
  size_t handles() const { return entries_.size(); }

 private:
  enum class state : uint8_t { free, held, remembered };

  void forget(uint32_t handle) {
    states_[handle] = state::free;
    free_.push_back(handle);
  }
  /// Prefetches an entry that will be written soon and is no longer in the cache.
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
