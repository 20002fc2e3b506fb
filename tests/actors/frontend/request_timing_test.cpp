#include "actors/frontend/request_timing.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

time_point after_us(int us) { return time_point{} + 1h + us * 1us; }

/// Passes its stations after 1, 3, 6, 10, 15, 21, 28, 36, 45 and 55 us.
outcome answered() {
  outcome o;
  o.arrival = after_us(0);
  o.accepted_at = after_us(3);
  o.times = {after_us(30), after_us(6), after_us(10), after_us(15), after_us(21), after_us(28)};
  o.completed_at = after_us(36);
  o.latency = 45us;
  return o;
}

}  // namespace

TEST_CASE("request_timing: the stages follow each other and add up to the whole") {
  const auto t = request_timing_of(answered(), after_us(1), after_us(55));
  duration sum{};
  for (size_t i = 0; i < request_stage_count; ++i) {
    CHECK(t.stages[i] == (i + 1) * 1us);
    sum += t.stages[i];
  }
  CHECK(sum == 55us);
  CHECK(t[request_stage::execute] == 7us);
  CHECK(t.late == -9us);  // it started before it was planned to
}

TEST_CASE("request_timing: a header has a precision of a tenth of a microsecond") {
  const auto t = request_timing_of(answered(), after_us(1), after_us(55));
  const auto header = to_header(t);
  CHECK(header.starts_with("parse;dur=0.0010, gateway;dur=0.0020, queue;dur=0.0030, "));
  const auto back = parse_request_timing(header);
  REQUIRE(back);
  CHECK(back->stages == t.stages);
  CHECK(back->late == t.late);
}

TEST_CASE("request_timing: other headers are not parsed") {
  CHECK(!parse_request_timing(""));
  CHECK(!parse_request_timing("cache;desc=hit"));
  CHECK(!parse_request_timing("parse;dur=0.1, gateway;dur=x"));
}
