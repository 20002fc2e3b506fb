#include "policies/llm/step_clock.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("step clock: a step ends at its forecast, counted from its begin, but not in the past") {
  step_clock c;
  CHECK(c.ends_at(time_point{5ms}, 1, 0) == time_point{5ms});  // no forecast yet
  c.begin(time_point{10ms});
  c.end(time_point{20ms}, 0, 0, 10ms);
  CHECK(c.forecast().fixed == 10ms);
  CHECK(c.ends_at(time_point{22ms}, 0, 0) == time_point{30ms});  // the next one began at 20
  CHECK(c.ends_at(time_point{40ms}, 0, 0) == time_point{40ms});
  c.begin(time_point{50ms});  // after the device was idle
  CHECK(c.ends_at(time_point{50ms}, 0, 0) == time_point{60ms});
}

TEST_CASE("step clock: a step is overdue after the longest time, from its own begin") {
  step_clock c;
  c.begin(time_point{10ms});
  CHECK(c.overdue_at() == never);
  c.set_longest(100ms);
  CHECK(c.overdue_at() == time_point{110ms});
  c.end(time_point{60ms}, 1, 0, 50ms);
  CHECK(c.overdue_at() == time_point{160ms});
}

TEST_CASE("step clock: counts steps and their time, and gives the next step's context") {
  step_clock c;
  c.begin(time_point{0ms});
  c.end(time_point{10ms}, 0, 4, 10ms);
  c.end(time_point{20ms}, 0, 8, 10ms);
  CHECK(c.steps() == 2);
  CHECK(c.busy() == 20ms);
  const auto next = c.context(time_point{30ms});
  CHECK(next.now == time_point{30ms});
  CHECK(next.prompt_tokens == doctest::Approx(6).epsilon(0.01));
  CHECK(next.steps == c.forecast());
}
