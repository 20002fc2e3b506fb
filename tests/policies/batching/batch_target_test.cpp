#include "policies/batching/batch_target.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/resnet50.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

double rows_of(const batching_parameters& p, std::optional<double> rate) {
  return staggered_target(p, rate).rows;
}

}  // namespace

TEST_CASE("at full load the target is the batch of the staggered schedule over all slots") {
  CHECK(rows_of(resnet50(8), 1e9) == 16);  // 9/8 · ℓ(16) = 24.7 ms
  CHECK(rows_of(resnet50(1), 1e9) == 7);   // 2 · ℓ(7) = 24.9 ms
}

TEST_CASE("at a lower rate the target is what arrives between two batches") {
  CHECK(rows_of(resnet50(8), 1000) == 9);  // 9 / rate + ℓ(9) = 23.5 ms; 10: 25.6 ms
  CHECK(rows_of(resnet50(8), 100) == 1);
  CHECK(rows_of(resnet50(8), 0.0) == 1);
}

TEST_CASE("before a rate is known the target assumes a slot for the model alone") {
  CHECK(rows_of(resnet50(8), {}) == 7);
}

TEST_CASE("the network and the response take their share of the SLO") {
  auto p = resnet50(1);
  p.network = {.control = 1ms, .data = 300us};
  p.response = 2ms;
  CHECK(rows_of(p, 1e9) == 4);  // 2 · ℓ(4) + 1.2 ms = 19.8 ms of 22 ms; 5: 22.2 ms
}

TEST_CASE("the target is at least one row and at most the largest batch") {
  auto p = resnet50(8);
  p.max_rows = 12;
  CHECK(rows_of(p, 1e9) == 12);
  p.slo = 1ms;
  CHECK(rows_of(p, 1e9) == 1);
  p.slo = 25ms;
  p.latency = {0ns, 1ms};
  CHECK(rows_of(p, 1e9) == 12);
}

TEST_CASE("a batch that fits exactly is not lost to rounding") {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 12ms;
  p.slots = 3;
  CHECK(rows_of(p, 1e9) == 4);  // 4/3 · ℓ(4) = 12 ms, the example of the paper
}

TEST_CASE("the need is the slots that the rate keeps busy with such batches") {
  // 5839 requests a second are what eight slots do in batches of 16.
  CHECK(staggered_target(resnet50(8), 8 * 16 / 0.02192).need == doctest::Approx(8));
  CHECK(staggered_target(resnet50(8), 1000).need == doctest::Approx(1000 * 0.014549 / 9));
  CHECK(staggered_target(resnet50(8), {}).need == 0);
}

TEST_CASE("batches that keep up have as many rows as arrive during their run on the model's slots") {
  const auto p = resnet50(8);
  for (const double rate : {3000.0, 4500.0, 5500.0}) {
    CAPTURE(rate);
    const auto target = staggered_target(p, rate);
    const double b = rows_that_keep_up(p.latency, target, target.need / 8);
    CHECK(8 * b / (0.001053 * b + 0.005072) == doctest::Approx(rate));
  }
}

TEST_CASE("batches that keep up have between one row and the target at any load") {
  const auto p = resnet50(8);
  const auto target = staggered_target(p, 5500);
  CHECK(rows_that_keep_up(p.latency, target, 1) == doctest::Approx(16));
  CHECK(rows_that_keep_up(p.latency, target, 7) == 16);
  CHECK(rows_that_keep_up(p.latency, target, 0.1) == 1);
  CHECK(rows_that_keep_up(p.latency, target, 0) == 1);
  CHECK(rows_that_keep_up({1ms, 0ns}, target, 0.5) == 1);  // nothing is gained by batches
}
