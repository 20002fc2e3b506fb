#include "transport/fabric/paced_interface.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {
constexpr time_point paced_start{1h};
constexpr uint64_t one_ms = 125'000;  ///< bytes, at 1 Gbit/s
}  // namespace

TEST_CASE("an interface moves pulls one after another, at its rate") {
  paced_interface i(1);
  CHECK(i.reserve(one_ms, paced_start) == paced_start + 1ms);
  CHECK(i.reserve(2 * one_ms, paced_start) == paced_start + 3ms);
  CHECK(i.reserve(one_ms, paced_start + 2ms) == paced_start + 4ms);
}

TEST_CASE("an idle interface begins at once, and a short pause costs no rate") {
  paced_interface i(1);
  i.reserve(one_ms, paced_start);
  CHECK(i.reserve(5 * one_ms, paced_start + 3ms) == paced_start + 6ms);
  CHECK(i.reserve(one_ms, paced_start + 6ms + paced_interface::max_pause + 1ns) ==
        paced_start + 7ms + paced_interface::max_pause + 1ns);
}
