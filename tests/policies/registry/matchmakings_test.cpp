#include "policies/registry/matchmakings.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("every listed matchmaking policy can be made, no other") {
  for (const auto name : matchmakings().names()) CHECK(make_matchmaking(name));
  CHECK_FALSE(make_matchmaking("highest_id"));
}
