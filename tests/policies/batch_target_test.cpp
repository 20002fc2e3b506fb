#include "policies/batch_target.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

batching_parameters resnet50(uint32_t slots) {
  batching_parameters p;
  p.latency = {1053us, 5072us};
  p.slo = 25ms;
  p.slots = slots;
  return p;
}

}  // namespace

TEST_CASE("at full load the target is the batch of the staggered schedule over all slots") {
  CHECK(staggered_target(resnet50(8), 1e9) == 16);  // 9/8 · ℓ(16) = 24.7 ms
  CHECK(staggered_target(resnet50(1), 1e9) == 7);   // 2 · ℓ(7) = 24.9 ms
}

TEST_CASE("at a lower rate the target is what arrives between two batches") {
  CHECK(staggered_target(resnet50(8), 1000) == 9);  // 9 / rate + ℓ(9) = 23.5 ms; 10: 25.6 ms
  CHECK(staggered_target(resnet50(8), 100) == 1);
  CHECK(staggered_target(resnet50(8), 0.0) == 1);
}

TEST_CASE("before a rate is known the target assumes a slot for the model alone") {
  CHECK(staggered_target(resnet50(8), {}) == 7);
}

TEST_CASE("the network and the response take their share of the SLO") {
  auto p = resnet50(1);
  p.network = {.control = 1ms, .data = 300us};
  p.response = 2ms;
  CHECK(staggered_target(p, 1e9) == 4);  // 2 · ℓ(4) + 1.2 ms = 19.8 ms of 22 ms; 5: 22.2 ms
}

TEST_CASE("the target is at least one row and at most the largest batch") {
  auto p = resnet50(8);
  p.max_rows = 12;
  CHECK(staggered_target(p, 1e9) == 12);
  p.slo = 1ms;
  CHECK(staggered_target(p, 1e9) == 1);
  p.slo = 25ms;
  p.latency = {0ns, 1ms};
  CHECK(staggered_target(p, 1e9) == 12);
}

TEST_CASE("a batch that fits exactly is not lost to rounding") {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 12ms;
  p.slots = 3;
  CHECK(staggered_target(p, 1e9) == 4);  // 4/3 · ℓ(4) = 12 ms, the example of the paper
}
