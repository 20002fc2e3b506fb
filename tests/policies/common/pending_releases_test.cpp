#include "policies/common/pending_releases.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("pending releases: one message a worker, empty regions left out") {
  const address a{node_id{1}, {5}, role::gpu_worker, 0}, b{node_id{1}, {5}, role::gpu_worker, 1};
  const auto region = [](uint64_t generation) {
    return region_ref{node_id{1}, {5}, memory_kind::host, 0, 8, generation};
  };
  pending_releases p;
  p.add(b, region(1)), p.add(a, region(2)), p.add(b, region(3)), p.add(a, {});
  std::vector<std::pair<address, std::vector<region_ref>>> sent;
  const auto flush = [&] {
    sent.clear();
    p.flush([&](const address& to, release r) { sent.push_back({to, r.regions}); });
  };
  flush();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].first == b);
  CHECK(sent[0].second == std::vector{region(1), region(3)});
  CHECK(sent[1].first == a);
  CHECK(sent[1].second == std::vector{region(2)});
  flush();
  CHECK(sent.empty());
  p.add(a, region(4));
  p.clear();
  flush();
  CHECK(sent.empty());
}
