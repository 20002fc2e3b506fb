#include "gpu/cuda/rank_meeting.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("rank meeting: ranks wait for each other, each time, until they part") {
  rank_meeting ranks(2);
  std::atomic<int> arrivals = 0;
  std::jthread other([&] {
    for (int i = 0; i < 100; ++i) ++arrivals, ranks.meet();
    CHECK_THROWS_AS(ranks.meet(), device_lost);
  });
  for (int i = 0; i < 100; ++i) {
    ranks.meet();
    CHECK(arrivals >= i + 1);
    CHECK(ranks.meetings() >= static_cast<uint64_t>(i + 1));
  }
  CHECK(ranks.meetings() == 100);
  ranks.part();
  CHECK_THROWS_AS(ranks.meet(), device_lost);
}
