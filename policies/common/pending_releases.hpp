// Outputs that a gateway has finished with, collected during a turn and released with one message to each
// worker.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "messages/tensor/request.hpp"

namespace troupe {

class pending_releases {
 public:
  /// An empty region is ignored.
  void add(const address& worker, const region_ref& region) {
    if (!region) return;
    auto it =
        std::find_if(by_worker_.begin(), by_worker_.end(), [&](const auto& r) { return r.first == worker; });
    if (it == by_worker_.end()) it = by_worker_.insert(it, {worker, {}});
    it->second.regions.push_back(region);
  }
  void clear() { by_worker_.clear(); }

  /// Calls `send(worker, release)`, in the order of the workers' first regions.
  template <class Send>
  void flush(Send&& send) {
    for (auto& r : by_worker_) send(r.first, std::move(r.second));
    by_worker_.clear();
  }

 private:
  std::vector<std::pair<address, release>> by_worker_;
};

}  // namespace troupe
