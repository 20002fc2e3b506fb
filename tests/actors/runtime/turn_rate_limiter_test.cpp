#include "actors/runtime/turn_rate_limiter.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {
time_point after(duration t) { return time_point{} + 1h + t; }
}  // namespace

TEST_CASE("turn_rate_limiter: a burst of turns may begin at once, then one per interval") {
  turn_rate_limiter pace(100us, 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(pace.next() <= after(0us));
    pace.begin(after(0us));
  }
  for (int i = 1; i <= 10; ++i) {
    CAPTURE(i);
    pace.begin(pace.next());
    CHECK(pace.next() == after(100us * i));
  }
}

TEST_CASE("turn_rate_limiter: a pause restores one burst, and no more") {
  turn_rate_limiter pace(100us, 4);
  for (int i = 0; i < 20; ++i) pace.begin(after(0us));
  for (int i = 0; i < 4; ++i) {
    CHECK(pace.next() <= after(1h));
    pace.begin(after(1h));
  }
  pace.begin(after(1h));
  CHECK(pace.next() > after(1h));
}

TEST_CASE("turn_rate_limiter: infrequent turns never wait") {
  turn_rate_limiter pace(100us, 4);
  for (int i = 0; i < 100; ++i) {
    CHECK(pace.next() <= after(100us * i));
    pace.begin(after(100us * i));
  }
}

TEST_CASE("turn_rate_limiter: without an interval turns never wait") {
  turn_rate_limiter pace(0us);
  for (int i = 0; i < 100; ++i) {
    CHECK(pace.next() <= after(0us));
    pace.begin(after(0us));
  }
}
