#include "policies/scheduling.hpp"

#include <doctest/doctest.h>

#include "policies/batching.hpp"
#include "policies/matchmaking.hpp"

using namespace troupe;

TEST_CASE("every scheduler that has a name is made of policies that there are") {
  for (const auto name : scheduling_names()) {
    CAPTURE(name);
    const auto s = scheduling_named(name);
    REQUIRE(s);
    CHECK(make_batching(s->batching, s->shedding, {}) != nullptr);
    CHECK(make_matchmaking(s->matchmaking) != nullptr);
  }
}

TEST_CASE("a scheduler's argument is its batching policy's") {
  CHECK(scheduling_named("timeout(30%)")->batching == "timeout(30%)");
  CHECK(scheduling_named("timeout(30%)")->matchmaking == scheduling_named("timeout")->matchmaking);
  CHECK(scheduling_named("clockwork(any)")->batching == "clockwork(any)");
  CHECK_FALSE(scheduling_named("timeout(soon)"));
  CHECK_FALSE(scheduling_named("eager(1ms)"));
  CHECK_FALSE(scheduling_named("lazy"));
  CHECK_FALSE(scheduling_named(""));
}
