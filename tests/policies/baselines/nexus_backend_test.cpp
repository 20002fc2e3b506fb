#include "policies/baselines/nexus_backend.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/resnet50.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("Nexus plans batches of which two, one after the other, meet the SLO") {
  auto p = resnet50();
  CHECK(nexus_backend::planned_batch(p) == 7);  // Table 2 of the Symphony paper
  p.max_rows = 5;
  CHECK(nexus_backend::planned_batch(p) == 5);
  p.slo = 7ms;
  CHECK(nexus_backend::planned_batch(p) == 1);
  p.latency.alpha = {};
  p.slo = 25ms;
  CHECK(nexus_backend::planned_batch(p) == 5);
}

TEST_CASE("a backend starts the planned batch at once, and drops requests that would be late in it") {
  nexus_backend policy(resnet50(), shedding::window, 100);
  policy.add({time_point{9ms}, request_id{1}}, {});  // alone it would be in time: ℓ(1) = 6.1 ms
  for (uint64_t id = 2; id <= 12; ++id) policy.add({time_point{25ms}, request_id{id}}, {});
  policy.update({}, long_ago);
  CHECK(policy.window().rows == 7);
  CHECK(policy.window().exec_at == time_point{});
  std::vector<dropped_queued_request> dropped;
  policy.take_dropped(dropped);
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0].request.id == request_id{1});
  CHECK(dropped[0].reason == drop_reason::shed);
}

TEST_CASE("a backend makes no larger batches than were planned for it, but lets a large request pass") {
  nexus_backend policy(resnet50(), shedding::window, 3);
  for (uint64_t id = 1; id <= 5; ++id) policy.add({time_point{25ms}, request_id{id}}, {});
  policy.update({}, long_ago);
  CHECK(policy.window().rows == 3);
  policy.set_max_batch(2);
  policy.update({}, long_ago);
  CHECK(policy.window().rows == 2);
  policy.add({time_point{24ms}, request_id{6}, 6}, {});
  policy.update({}, long_ago);
  CHECK(policy.window().rows == 6);
}

TEST_CASE("a backend plans with a latency that it learns later") {
  auto p = resnet50();
  p.latency = {};
  p.max_rows = 16;
  nexus_backend policy(p, shedding::window, 100);
  policy.set_latency(resnet50().latency);
  for (uint64_t id = 1; id <= 16; ++id) policy.add({time_point{25ms}, request_id{id}}, {});
  policy.update({}, long_ago);
  CHECK(policy.window().rows == 7);
}
