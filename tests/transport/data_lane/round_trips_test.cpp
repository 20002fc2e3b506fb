#include "transport/data_lane/round_trips.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace troupe;

TEST_CASE("a round trip counts in the first bucket whose bound it does not exceed") {
  round_trips r;
  for (const duration time : {duration{20us}, duration{21us}, duration{1ms}, duration{2s}}) r.add(time);
  const auto counts = r.counts();
  REQUIRE(counts.size() == round_trips::bounds.size() + 1);
  CHECK(counts[0] == 1);
  CHECK(counts[1] == 1);
  CHECK(counts[10] == 1);
  CHECK(counts.back() == 1);
  CHECK(std::accumulate(counts.begin(), counts.end(), uint64_t{0}) == 4);
  CHECK(r.sum() == 2s + 1ms + 41us);
}
