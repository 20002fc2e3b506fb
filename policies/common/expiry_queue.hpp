// Queue of request deadlines, for requests that mostly end long before.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// Ids by (time, id). Later ids are kept in unsorted buckets of 17 ms. A bucket is opened when its time
/// comes; ids that have ended by then are discarded unsorted.
class expiry_queue {
 public:
  void add(time_point at, request_id id) {
    if (const auto span = span_of(at); span <= current_)
      push({at, id});
    else
      later_[span].push_back({at, id});
  }

  /// The earliest id that is due by `now` and for which `waits(id)` holds; others due by then are discarded.
  template <class Waits>
  std::optional<request_id> pop(time_point now, Waits&& waits) {
    while (next() <= now) {
      if (soon_.empty()) {
        open_next(waits);
        continue;
      }
      std::pop_heap(soon_.begin(), soon_.end(), std::greater<>{});
      const auto id = soon_.back().id;
      soon_.pop_back();
      if (waits(id)) return id;
    }
    return {};
  }

  /// When to call `pop` next: the earliest time that was added, or slightly before.
  time_point next() const {
    if (!soon_.empty()) return soon_.front().at;
    return later_.empty() ? never : start_of(later_.begin()->first);
  }

 private:
  struct entry {
    time_point at;
    request_id id;
    bool operator>(const entry& o) const { return at != o.at ? at > o.at : id > o.id; }
  };
  static constexpr int span_bits = 24;
  static int64_t span_of(time_point t) { return t.time_since_epoch().count() >> span_bits; }
  static time_point start_of(int64_t span) { return time_point{duration{span << span_bits}}; }

  void push(const entry& e) {
    soon_.push_back(e);
    std::push_heap(soon_.begin(), soon_.end(), std::greater<>{});
  }
  template <class Waits>
  void open_next(Waits&& waits) {
    const auto first = later_.begin();
    current_ = first->first;
    for (const auto& e : first->second)
      if (waits(e.id)) push(e);
    later_.erase(first);
  }

  std::vector<entry> soon_;  // heap, earliest first
  std::map<int64_t, std::vector<entry>> later_;
  int64_t current_ = INT64_MIN;  // last bucket that was moved to `soon_`
};

}  // namespace troupe
