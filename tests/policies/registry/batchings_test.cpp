#include "policies/registry/batchings.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("every listed batching and shedding policy can be made") {
  for (const auto batching : batchings().names())
    for (const auto shedding : shedding_names()) CHECK(make_batching(batching, shedding, {}));
}

TEST_CASE("an unknown batching or shedding policy is none") {
  CHECK_FALSE(make_batching("deferrred", "window", {}));
  CHECK_FALSE(make_batching("deferred", "windows", {}));
}
