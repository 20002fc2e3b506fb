// The requests that a queue dropped in this turn, by gateway, and the number of drops by reason so far.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "messages/tensor/request.hpp"

namespace troupe {

class dropped_requests {
 public:
  void add(const request& r, drop_reason why) {
    ++count_[static_cast<size_t>(why)];
    auto it =
        std::find_if(pending_.begin(), pending_.end(), [&](const auto& p) { return p.first == r.gateway; });
    if (it == pending_.end()) it = pending_.insert(it, {r.gateway, {}});
    it->second.requests.push_back({r.id, r.attempt, why});
  }
  /// Calls `send(gateway, drops)` for each gateway, in the order of the first drop of each.
  template <class F>
  void flush(F&& send) {
    for (auto& [gateway, list] : pending_) send(gateway, std::move(list));
    pending_.clear();
  }
  /// Discards the pending drops without a report to the gateways.
  void forget() { pending_.clear(); }

  /// Drops for this reason so far.
  uint64_t count(drop_reason why) const { return count_[static_cast<size_t>(why)]; }

 private:
  std::vector<std::pair<address, drops>> pending_;
  std::array<uint64_t, drop_reason_count> count_{};
};

/// The slots were too busy or there were none: with more slots the request could have run.
constexpr bool is_overload(drop_reason why) {
  return why == drop_reason::late || why == drop_reason::shed || why == drop_reason::queue_full ||
         why == drop_reason::no_capacity;
}

}  // namespace troupe
