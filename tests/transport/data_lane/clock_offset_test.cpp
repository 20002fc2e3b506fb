#include "transport/data_lane/clock_offset.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace troupe;

namespace {

/// A heartbeat sent at `sent` to a peer whose clock is `ahead`, and which answers after 1 ms.
clock_sample beat(duration sent, duration ahead, duration there, duration back) {
  const time_point t1{sent}, t2{sent + there + ahead}, t3 = t2 + 1ms;
  return {t1, t2, t3, t3 - ahead + back};
}

}  // namespace

TEST_CASE("the offset is unknown before the first heartbeat") {
  const clock_offset c;
  CHECK_FALSE(c.known());
  CHECK(c.error(time_point{}) == duration::max());
  CHECK(c.shift(time_point{}) == duration{});
}

TEST_CASE("an even round trip gives the offset exactly, ahead or behind") {
  for (const duration ahead : {duration{3h}, duration{-2h}, duration{0}}) {
    clock_offset c;
    CHECK(c.add(beat(10s, ahead, 100us, 100us)));
    CHECK(c.known());
    CHECK(c.offset() == ahead);
    CHECK(c.error(time_point{10s + 1200us}) == 100us + 1ns);
  }
}

TEST_CASE("the offset of an uneven round trip is within the stated error") {
  clock_offset c;
  c.add(beat(10s, 3h, 500us, 10us));
  CHECK(std::chrono::abs(c.offset() - 3h) <= c.error(time_point{10s}));
}

TEST_CASE("the shortest round trip counts, until age has made it worse than a new one") {
  clock_offset c(200e-6);
  c.add(beat(10s, 3h, 100us, 100us));
  c.add(beat(11s, 3h, 900us, 100us));  // bound 500 µs against 100 + 200 µs
  CHECK(c.offset() == 3h);
  CHECK(c.error(time_point{11s}) > 295us);
  c.add(beat(13s, 3h, 900us, 100us));  // against 100 + 600 µs
  CHECK(c.offset() == 3h + 400us);
  CHECK(c.error(time_point{13s}) < 501us);
}

TEST_CASE("a sample that contradicts the best one replaces it, because a clock was stepped") {
  clock_offset c;
  c.add(beat(10s, 3h, 10us, 10us));
  c.add(beat(10s + 5ms, 4h, 900us, 900us));
  CHECK(c.offset() == 4h);
}

TEST_CASE("a converted deadline is never later than the sent one") {
  clock_offset c;
  c.add(beat(10s, 3h, 300us, 20us));
  const time_point ours{20s};
  CHECK(ours + 3h + c.shift(time_point{11s}) <= ours);
  CHECK(ours + 3h + c.shift(time_point{11s}) > ours - 1ms);
}

TEST_CASE("impossible samples are ignored") {
  clock_offset c;
  const time_point t{10s};
  CHECK_FALSE(c.add({t, t, t - 1ns, t + 1ms}));  // answered before it came
  CHECK_FALSE(c.add({t, t, t + 2ms, t + 1ms}));  // at the peer for longer than away
  CHECK_FALSE(c.add({t, t, t, t - 1ns}));        // back before it was sent
  CHECK_FALSE(c.add({t, never, never, t + 1ms}));
  CHECK_FALSE(c.add({t, long_ago, never, t + 1ms}));
  CHECK_FALSE(c.known());
}

TEST_CASE("under drift and random delays the true offset is always within the error") {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const double drift = 200e-6 * (static_cast<double>(random() % 2001) / 1000 - 1);
    const auto true_offset = [&](duration ours) {
      return duration{1h} + duration{static_cast<int64_t>(drift * static_cast<double>(ours.count()))};
    };
    clock_offset c(201e-6);
    duration now{};
    for (int i = 0; i < 500; ++i) {
      now += duration{random() % 500000000};
      const duration there{random() % (i % 7 == 0 ? 20000000 : 300000)}, back{random() % 300000};
      const duration arrived = now + there, answered = arrived + 50us, returned = answered + back;
      c.add({time_point{now}, time_point{arrived + true_offset(arrived)},
             time_point{answered + true_offset(answered)}, time_point{returned}});
      now = returned + duration{random() % 1000000000};
      const auto wrong = std::chrono::abs(c.offset() - true_offset(now));
      REQUIRE(wrong <= c.error(time_point{now}) + 10ns);  // rounding of the drift in this test
    }
  }
}
