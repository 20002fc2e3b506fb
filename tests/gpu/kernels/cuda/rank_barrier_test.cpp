#include "gpu/kernels/cuda/rank_barrier.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("rank barrier: ranks wait for each other in every phase, until an abort") {
  rank_barrier ranks(2);
  std::atomic<int> arrivals = 0;
  std::jthread other([&] {
    for (int i = 0; i < 100; ++i) ++arrivals, ranks.arrive_and_wait();
    CHECK_THROWS_AS(ranks.arrive_and_wait(), device_lost);
  });
  for (int i = 0; i < 100; ++i) {
    ranks.arrive_and_wait();
    CHECK(arrivals >= i + 1);
    CHECK(ranks.phases() >= static_cast<uint64_t>(i + 1));
  }
  CHECK(ranks.phases() == 100);
  ranks.abort();
  CHECK_THROWS_AS(ranks.arrive_and_wait(), device_lost);
}
