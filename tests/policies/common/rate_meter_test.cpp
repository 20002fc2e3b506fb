#include "policies/common/rate_meter.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("a rate meter has no rate before its first bucket is complete") {
  rate_meter meter(50ms, 4);
  const time_point start{7h};
  meter.count(start, 10);
  CHECK_FALSE(meter.rate(start + 49ms));
  CHECK(meter.rate(start + 50ms) == 200);
}

TEST_CASE("the rate is the mean of the last complete buckets") {
  rate_meter meter(100ms, 3);
  const time_point start{};
  for (int bucket = 0; bucket < 5; ++bucket)
    meter.count(start + bucket * 100ms, static_cast<uint32_t>(bucket));
  CHECK(meter.rate(start + 499ms) == doctest::Approx(20));  // buckets 1, 2, 3
  CHECK(meter.valid_until() == start + 500ms);
  CHECK(meter.rate(start + 500ms) == doctest::Approx(30));  // buckets 2, 3, 4
  CHECK(meter.rate(start + 600ms) == doctest::Approx(70 / 3.0));
}

TEST_CASE("the rate is zero after a silence of one window or longer") {
  for (const duration silence : {duration{400ms}, duration{450ms}, duration{1000h}}) {
    rate_meter meter(100ms, 3);
    meter.count(time_point{}, 1000);
    CHECK(meter.rate(time_point{} + silence) == 0);
    meter.count(time_point{} + silence, 6);
    CHECK(meter.rate(time_point{} + silence + 100ms) == doctest::Approx(20));
  }
}
