#include "policies/batching/timeout.hpp"

#include <doctest/doctest.h>

#include "policies/registry/batchings.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

batching_parameters some() {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 20ms;
  p.max_rows = 4;
  return p;
}

/// The start of a batch under this policy, after so many requests at `the_start`.
duration start_of(std::string_view name, uint32_t requests, batching_parameters p = some()) {
  const auto policy = make_batching(name, "timeout", p);
  REQUIRE(policy != nullptr);
  for (uint32_t i = 0; i < requests; ++i) policy->add({the_start + p.slo, request_id{i}}, the_start);
  policy->update(the_start, long_ago);
  return policy->window().exec_at - the_start;
}

}  // namespace

TEST_CASE("a time-out is a share of the SLO or a time") {
  CHECK(timeout::wait_of("30%", 20ms) == 6ms);
  CHECK(timeout::wait_of("12.5ms", 20ms) == 12500us);
  CHECK(timeout::wait_of("800us", 20ms) == 800us);
  CHECK(timeout::wait_of("", 20ms) == 10ms);
  for (const auto* bad : {"30", "%", "-1ms", "1 ms", "1s", "1e9ms", "nan%", "ms"}) {
    CAPTURE(bad);
    CHECK_FALSE(timeout::wait_of(bad, 20ms));
  }
}

TEST_CASE("a batch starts when its earliest request has waited for the time-out") {
  CHECK(start_of("timeout(8ms)", 1) == 8ms);
  CHECK(start_of("timeout(0ms)", 1) == start_of("eager", 1));
  CHECK(start_of("timeout", 1) == 10ms);
}

TEST_CASE("but not later than it must, and at once when it is full") {
  CHECK(start_of("timeout(90%)", 2) == 13ms);  // 20 ms - ℓ(2)
  auto with_margin = some();
  with_margin.margin = 1ms;
  with_margin.response = 2ms;
  CHECK(start_of("timeout(90%)", 2, with_margin) == 10ms);
  CHECK(start_of("timeout(8ms)", 4) == 0ms);
}

TEST_CASE("uncapped, it waits to the end and runs what still fits then") {
  CHECK(start_of("timeout(8ms, uncapped)", 1) == 8ms);
  CHECK(start_of("timeout(90%, uncapped)", 2) == 18ms);
  const auto p = some();
  const auto policy = make_batching("timeout(13500us, uncapped)", "timeout", p);
  for (uint32_t i = 0; i < 3; ++i) policy->add({the_start + p.slo, request_id{i}}, the_start);
  policy->update(the_start, long_ago);
  CHECK(policy->window().rows == 3);  // though all three end by 20 ms only if they start by 12 ms
  CHECK(policy->wake_at() < the_start + 13500us);
  policy->update(the_start + 13500us, long_ago);
  CHECK(policy->window().rows == 1);
  CHECK(policy->window().exec_at == the_start + 13500us);
}

TEST_CASE("an invalid or unexpected argument gives no policy") {
  CHECK(make_batching("timeout(soon)", "timeout", some()) == nullptr);
  CHECK(make_batching("timeout()", "timeout", some()) == nullptr);
  CHECK(make_batching("timeout(, uncapped)", "timeout", some()) == nullptr);
  CHECK(make_batching("timeout(5ms, capped)", "timeout", some()) == nullptr);
  CHECK(make_batching("timeout(5ms", "timeout", some()) == nullptr);
  CHECK(make_batching("eager(5ms)", "timeout", some()) == nullptr);
}
