#include "transport/fabric/flow_network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "policies/common/random.hpp"

using namespace troupe;

namespace {

constexpr uint64_t gigabyte = 1'000'000'000;
using resources = std::vector<flow_network::resource>;

}  // namespace

TEST_CASE("flows: one alone moves at the rate of the slowest resource on its way") {
  flow_network n;
  const auto fast = n.add(4 * gigabyte), slow = n.add(gigabyte);
  const auto f = n.start(2 * gigabyte, resources{fast, slow}, 1s);
  CHECK(n.rate(f) == gigabyte);
  CHECK(n.next_end() == 3s);
  CHECK(n.ended(2999ms).empty());
  CHECK(n.ended(3s) == std::vector{f});
  CHECK(n.ended(3s).empty());
  CHECK(n.next_end() == duration::max());
}

TEST_CASE("flows: two share a resource, and the second goes on faster when the first has ended") {
  flow_network n;
  const auto r = n.add(gigabyte);
  const auto a = n.start(gigabyte, resources{r}, 0s), b = n.start(2 * gigabyte, resources{r}, 0s);
  CHECK(n.rate(a) == gigabyte / 2);
  CHECK(n.next_end() == 2s);
  // Asked late, the second has ended as well, 1 s after the first.
  CHECK(n.ended(10s) == std::vector{a, b});
  const auto c = n.start(gigabyte, resources{r}, 10s);
  CHECK(n.ended(11s) == std::vector{c});
}

TEST_CASE("flows: both directions of an interface are independent, and so are other ways") {
  flow_network n;
  const auto out = n.add(gigabyte), in = n.add(gigabyte);
  const auto a = n.start(gigabyte, resources{out}, 0s), b = n.start(gigabyte, resources{in}, 0s);
  CHECK(n.rate(a) == gigabyte);
  CHECK(n.rate(b) == gigabyte);
}

TEST_CASE("flows: what one cannot use, others get") {
  flow_network n;
  const auto shared = n.add(3 * gigabyte), slow = n.add(gigabyte / 2);
  const auto a = n.start(gigabyte, resources{shared, slow}, 0s);
  const auto b = n.start(gigabyte, resources{shared}, 0s);
  CHECK(n.rate(a) == gigabyte / 2);
  CHECK(n.rate(b) == 5 * gigabyte / 2);
  n.cancel(b, 100ms);
  CHECK(n.rate(b) == 0);
  CHECK(n.rate(a) == gigabyte / 2);
  n.set_rate(slow, 2 * gigabyte, 1s);  // half of it has moved
  CHECK(n.next_end() == 1250ms);
  CHECK(n.ended(1250ms) == std::vector{a});
}

TEST_CASE("flows: every flow has a full resource on which no other is faster, and all bytes arrive") {
  random_stream random(11, "flows");
  for (int trial = 0; trial < 200; ++trial) {
    flow_network n;
    std::vector<flow_network::resource> all;
    const auto count = 2 + random.below(8);
    for (uint64_t i = 0; i < count; ++i) all.push_back(n.add(1'000 + random.below(1'000'000'000)));
    struct started {
      resources over;
      uint64_t bytes;
      double moved = 0;
    };
    std::map<flow_network::flow, started> open;
    duration now{};
    size_t ends = 0, starts = 0;
    while (starts < 30 || !open.empty()) {
      // The next event: a start, or the end of a flow.
      const auto next_start =
          starts < 30 ? now + duration{static_cast<int64_t>(random.below(1'000'000))} : duration::max();
      const auto until = std::min(next_start, n.next_end());
      for (auto& [f, s] : open)
        s.moved += static_cast<double>(n.rate(f)) * std::chrono::duration<double>(until - now).count();
      now = until;
      for (const auto f : n.ended(now)) {
        CHECK(open.at(f).moved >= static_cast<double>(open.at(f).bytes) * (1 - 1e-9));
        open.erase(f);
        ++ends;
      }
      if (until == next_start) {
        resources over;
        for (const auto r : all)
          if (random.below(3) == 0) over.push_back(r);
        if (over.empty()) over.push_back(all[0]);
        const auto bytes = 1 + random.below(1'000'000);
        open[n.start(bytes, over, now)] = {over, bytes};
        ++starts;
      }
      std::map<flow_network::resource, std::pair<uint64_t, uint64_t>> use;  // sum and largest
      for (const auto& [f, s] : open)
        for (const auto r : s.over) {
          use[r].first += n.rate(f);
          use[r].second = std::max(use[r].second, n.rate(f));
        }
      for (const auto& [r, u] : use) CHECK(u.first <= n.rate_of(r) + open.size());
      for (const auto& [f, s] : open) {
        const bool bottleneck = std::any_of(s.over.begin(), s.over.end(), [&](flow_network::resource r) {
          return use[r].first + open.size() >= n.rate_of(r) && n.rate(f) + 1 >= use[r].second;
        });
        CHECK(bottleneck);
      }
    }
    CHECK(ends == 30);
  }
}
