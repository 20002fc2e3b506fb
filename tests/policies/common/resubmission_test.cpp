#include "policies/common/resubmission.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {
constexpr time_point start{1h};
}

TEST_CASE("resubmission: at once, and then after pauses that double up to half a second") {
  const auto deadline = start + 1min;
  CHECK(resubmission_time(0, start, deadline) == start);
  CHECK(resubmission_time(1, start, deadline) == start + 20ms);
  CHECK(resubmission_time(2, start, deadline) == start + 40ms);
  CHECK(resubmission_time(5, start, deadline) == start + 320ms);
  CHECK(resubmission_time(6, start, deadline) == start + 500ms);
  CHECK(resubmission_time(4'000'000'000, start, deadline) == start + 500ms);
}

TEST_CASE("resubmission: none that could not begin before the deadline") {
  CHECK(resubmission_time(0, start, start + 1ns) == start);
  CHECK_FALSE(resubmission_time(0, start, start));
  CHECK(resubmission_time(1, start, start + 21ms));
  CHECK_FALSE(resubmission_time(1, start, start + 20ms));
}
