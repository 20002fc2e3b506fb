#include "policies/registry/scheduling.hpp"

#include <doctest/doctest.h>

#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"

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

TEST_CASE("only Nexus's batching goes with its matchmaking") {
  for (const auto name : scheduling_names()) CHECK(parts_fit(*scheduling_named(name)));
  CHECK_FALSE(parts_fit({.batching = "nexus"}));
  CHECK_FALSE(parts_fit({.batching = "eager", .matchmaking = "nexus"}));
}

TEST_CASE("a wrong argument is reported with its correct form") {
  CHECK(wrong_argument("timeout(soon)") ==
        "invalid policy 'timeout(soon)'; use timeout(30%) (of the SLO), timeout(12.5ms) or "
        "timeout(800us)");
  CHECK(wrong_argument("clockwork(all)") ==
        "invalid policy 'clockwork(all)'; use clockwork or clockwork(any)");
  CHECK(wrong_argument("shepherd(1)") ==
        "invalid policy 'shepherd(1)'; 'shepherd' does not take this argument");
  CHECK(wrong_argument("lazy(1)") == "");
  CHECK(wrong_argument("lazy") == "");
  CHECK(wrong_argument("timeout") == "");
}
