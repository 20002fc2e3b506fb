#include "tools/lab/policy_choice.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("an unknown policy is reported with the known ones, or with the form of its argument") {
  CHECK(
      unknown_policy("eagr") ==
      "unknown policy 'eagr' (did you mean 'eager'?); there are deferred, eager, timeout, clockwork, nexus, "
      "shepherd");
  for (const std::string name : {"timeout(k)", "timeout(0)", "timeout(-3ms)", "timeout(30 %)"})
    CHECK(unknown_policy(name) == "invalid policy '" + name +
                                      "'; use timeout(30%) (of the SLO), timeout(12.5ms) or "
                                      "timeout(800us)");
}

TEST_CASE("an unknown part is reported with all known names") {
  CHECK(unknown_part({}) == "");
  CHECK(unknown_part({.batching = "x"}) ==
        "unknown batching 'x'; there are deferred, eager, timeout, clockwork, nexus");
  CHECK(unknown_part({.batching = "timeout(3)"}).starts_with("invalid policy 'timeout(3)'; use timeout"));
  CHECK(unknown_part({.shedding = "windows"}) ==
        "unknown shedding 'windows' (did you mean 'window'?); there are timeout, window, staggered");
  CHECK(unknown_part({.matchmaking = "x"}) ==
        "unknown matchmaking 'x'; there are lowest_id, earliest_free, shepherd, nexus");
}

TEST_CASE("incompatible parts are refused") {
  for (const auto& s : {scheduling{.batching = "nexus"}, scheduling{.matchmaking = "nexus"}})
    CHECK(unknown_part(s).find("Nexus is a batching and a matchmaking policy in one") != std::string::npos);
  CHECK(unknown_part(*scheduling_named("nexus")) == "");
  CHECK(unknown_part({.matchmaking = "shepherd"}) == "");
}
