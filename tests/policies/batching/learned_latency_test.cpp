#include "policies/batching/learned_latency.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("learned_latency: the first request replaces the guess, and later ones move the average") {
  learned_latency l(1s);
  CHECK(l.latency() == latency_model{{}, 1ms});
  l.add(1000, 40ms);
  CHECK(l.latency() == latency_model{{}, 40ms});
  l.add(1000, 80ms);
  CHECK(l.latency().beta == 50ms);
  for (int i = 0; i < 100; ++i) l.add(1000, 8ms);
  CHECK(l.latency().beta < 9ms);
}

TEST_CASE("learned_latency: the slowest class of size counts until it has not run for 64 arrivals") {
  learned_latency l(1s);
  l.add(1 << 20, 200ms);
  l.add(100, 2ms);
  CHECK(l.latency().beta == 200ms);
  for (int i = 0; i < 63; ++i) l.arrive();
  CHECK(l.latency().beta == 200ms);
  l.add(100, 2ms);
  l.arrive();
  CHECK(l.latency().beta == 2ms);
  for (int i = 0; i < 64; ++i) l.arrive();
  CHECK(l.latency().beta == 1ms);
}

TEST_CASE("learned_latency: no estimate is longer than the maximum") {
  learned_latency l(50ms);
  l.add(0, 10s);
  CHECK(l.latency().beta == 50ms);
  CHECK(learned_latency(duration{1}).latency().beta == duration{1});
}
