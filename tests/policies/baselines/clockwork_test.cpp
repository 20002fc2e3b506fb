#include "policies/baselines/clockwork.hpp"

#include <doctest/doctest.h>

#include "policies/registry/batchings.hpp"

using namespace troupe;

TEST_CASE("Clockwork's batches start at once, in the sizes that it has, ahead of the slot") {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 100ms;
  for (const auto& [queued, batch] : {std::pair{1, 1}, {2, 2}, {3, 2}, {9, 8}, {40, 16}}) {
    CAPTURE(queued);
    clockwork policy(p, shedding::timeout);
    for (int i = 0; i < queued; ++i)
      policy.add({time_point{100ms}, request_id(static_cast<uint64_t>(i))}, {});
    policy.update({}, long_ago);
    CHECK(policy.window().rows == static_cast<uint32_t>(batch));
    CHECK(policy.window().exec_at == time_point{});
  }
  CHECK(clockwork(p, shedding::timeout).lead() == 5ms);
}

TEST_CASE("with any size, Clockwork's batches are as large as their deadline allows") {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 100ms;
  for (const auto& [queued, batch] : {std::pair{3, 3}, {40, 40}, {200, 90}}) {  // 100 ms - 5 ms ahead - 5 ms
    CAPTURE(queued);
    const auto policy = make_batching("clockwork(any)", "timeout", p);
    REQUIRE(policy != nullptr);
    for (int i = 0; i < queued; ++i)
      policy->add({time_point{100ms}, request_id(static_cast<uint64_t>(i))}, {});
    policy->update({}, long_ago);
    CHECK(policy->window().rows == static_cast<uint32_t>(batch));
    CHECK(policy->window().exec_at == time_point{});
    CHECK(policy->lead() == 5ms);
  }
  CHECK(make_batching("clockwork(few)", "timeout", p) == nullptr);
}
