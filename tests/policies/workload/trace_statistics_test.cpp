#include "policies/workload/trace_statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace troupe;

TEST_CASE("trace statistics: a worked example") {
  trace_statistics s;
  const auto add = [&](duration at, uint32_t prompt, uint32_t output) {
    s.add({.at = at, .prompt_tokens = prompt, .output_tokens = output});
  };
  add(10s, 5, 1);
  add(11s, 100, 2);
  add(11s, 30, 3);
  add(18s, 7, 4);  // windows of two seconds from the first: 3, 0, 0, 0, 1
  const auto r = s.get();
  CHECK(r.requests == 4);
  CHECK(r.seconds == 8);
  CHECK(r.rate == doctest::Approx(3 / 8.0));
  CHECK(r.gap_cv == doctest::Approx(std::sqrt(50 / 3.0 - 64 / 9.0) / (8 / 3.0)));
  CHECK(r.empty == doctest::Approx(3 / 5.0));
  CHECK(r.peak == doctest::Approx(3 * 5 / 4.0));
  CHECK(r.prompt.mean == doctest::Approx(35.5));
  CHECK(r.prompt.median == 30);  // the upper one of two
  CHECK(r.output.mean == doctest::Approx(2.5));
  CHECK(r.output.median == 3);
}

TEST_CASE("trace statistics: of too few requests") {
  trace_statistics s;
  CHECK(s.get().requests == 0);
  CHECK(s.get().prompt.median == 0);
  s.add({.at = 5s, .prompt_tokens = 9, .output_tokens = 2});
  CHECK(s.get().rate == 0);
  CHECK(s.get().prompt.median == 9);
}
