#include "policies/frontend/tenant_limits.hpp"

#include <doctest/doctest.h>

#include "policies/common/random.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("a bucket lets its burst pass at once, then one request an interval") {
  token_bucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) CHECK(bucket.take(the_start) == 0ms);
  CHECK(bucket.take(the_start) == 100ms);
  CHECK(bucket.take(the_start + 60ms) == 40ms);
  CHECK(bucket.take(the_start + 100ms) == 0ms);
  CHECK(bucket.take(the_start + 100ms) == 100ms);
}

TEST_CASE("a pause fills the bucket up to its burst and no further") {
  token_bucket bucket(10, 3);
  CHECK(bucket.take(the_start) == 0ms);
  for (int i = 0; i < 3; ++i) CHECK(bucket.take(the_start + 24h) == 0ms);
  CHECK(bucket.take(the_start + 24h) > 0ms);
}

TEST_CASE("a request that returns after the given time is admitted, at any rate") {
  random_stream random(7, "buckets");
  for (int i = 0; i < 1000; ++i) {
    token_bucket bucket(0.01 + 1e5 * random.uniform(), 1 + 20 * random.uniform());
    auto now = the_start;
    for (int k = 0; k < 50; ++k) {
      now += duration{static_cast<int64_t>(random.below(100'000))};
      const auto wait = bucket.take(now);
      if (wait == duration{}) continue;
      CHECK(bucket.take(now + wait - 1ns) > 0ns);
      now += wait;
      CHECK(bucket.take(now) == 0ns);
    }
  }
}

TEST_CASE("over a long time no more passes than rate and burst allow, and no less than the rate") {
  random_stream random(3, "buckets");
  token_bucket bucket(100, 10);
  auto now = the_start;
  uint64_t passed = 0;
  while (now < the_start + 100s) {
    now += duration{static_cast<int64_t>(random.below(2'000'000))};  // about 1000 a second
    passed += bucket.take(now) == 0ns;
  }
  CHECK(passed <= 100 * 100 + 10);
  CHECK(passed >= 100 * 100 - 100);
}

TEST_CASE("tenants are limited separately, and requests without a tenant are not limited") {
  tenant_limits limits({{1, 1, 0}, {0, 1, 2}});
  CHECK(limits.admit(1, the_start).admitted);
  const auto refused = limits.admit(1, the_start);
  CHECK_FALSE(refused.admitted);
  CHECK(refused.retry_after == 1s);
  for (int i = 0; i < 100; ++i) CHECK(limits.admit(0, the_start).admitted);
  CHECK(limits.admit(2, the_start).admitted);
  CHECK(limits.admit(2, the_start).admitted);
  CHECK_FALSE(limits.admit(2, the_start).admitted);
  limits.leave(2);
  CHECK(limits.admit(2, the_start).admitted);
  CHECK(limits.statistics()[0].admitted == 1);
  CHECK(limits.statistics()[0].over_rate == 1);
  CHECK(limits.statistics()[1].over_concurrency == 1);
  CHECK(limits.statistics()[1].in_flight == 2);
}

TEST_CASE("a request refused for its concurrency costs no token") {
  tenant_limits limits({{1, 2, 1}});
  CHECK(limits.admit(1, the_start).admitted);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(limits.admit(1, the_start).admitted);
  limits.leave(1);
  CHECK(limits.admit(1, the_start).admitted);
}
