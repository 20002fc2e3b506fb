// The best chains of small multicasts, found by trying all.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/policies/scaling/multicast_problems.hpp"

namespace troupe {

/// Every way to put targets on chains, one after the other.
struct brute_force {
  explicit brute_force(const multicast_problem& p) : p_(p), open_(p.sources), placed_(p.nodes.size()) {
    for (uint32_t s = 0; s < p.sources; ++s) open_[s].tail = s;
    place(0);
  }
  double latest = std::numeric_limits<double>::infinity(), sum = latest;  // in ns

 private:
  struct chain {
    uint32_t tail = 0;
    chain_time time;
  };
  /// Chains before `first` are complete.
  void place(uint32_t first) {
    if (std::all_of(placed_.begin() + p_.sources, placed_.end(), [](bool b) { return b; })) {
      constexpr double rounding = 0.5;
      if (latest_ < latest - rounding || (latest_ < latest + rounding && sum_ < sum)) {
        latest = latest_;
        sum = sum_;
      }
      return;
    }
    for (uint32_t s = first; s < p_.sources; ++s)
      for (uint32_t t = p_.sources; t < p_.nodes.size(); ++t) {
        if (placed_[t]) continue;
        const auto [chain_before, latest_before, sum_before] = std::tuple(open_[s], latest_, sum_);
        const double done = open_[s].time.add_hop(p_.chunk_ns(p_.rate(open_[s].tail, t)), p_.chunks);
        open_[s].tail = t;
        latest_ = std::max(latest_, done);
        sum_ += done;
        placed_[t] = true;
        place(s);
        placed_[t] = false;
        std::tie(open_[s], latest_, sum_) = std::tuple(chain_before, latest_before, sum_before);
      }
  }

  const multicast_problem& p_;
  std::vector<chain> open_;
  std::vector<bool> placed_;
  double latest_ = 0, sum_ = 0;
};

inline constexpr std::pair<network_kind, const char*> networks[] = {{network_kind::equal, "equal"},
                                                                    {network_kind::by_node, "by node"},
                                                                    {network_kind::by_leaf, "by leaf"},
                                                                    {network_kind::arbitrary, "arbitrary"}};

/// 1,500 instances with 3 sources and 4 targets at most.
inline void each_small_instance(network_kind kind,
                                const std::function<void(const multicast_problem&)>& with) {
  random_stream random(7, "multicast");
  for (int i = 0; i < 1500; ++i) with(random_multicast(random, kind, 3, 4));
}

}  // namespace troupe
