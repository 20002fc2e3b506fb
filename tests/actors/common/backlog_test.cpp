#include "actors/common/backlog.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace troupe;

TEST_CASE("backlog: a refused amount does not count, and a smaller one may fit") {
  backlog b(100);
  CHECK(b.add(60));
  CHECK_FALSE(b.add(41));
  CHECK(b.add(40));
  CHECK_FALSE(b.add(1));
  b.remove(60);
  CHECK(b.add(60));
}

TEST_CASE("backlog: a place is free again when its last holder is gone") {
  const auto b = std::make_shared<backlog>(1);
  REQUIRE(b->add(1));
  auto place = hold(b, 1);
  auto copy = place;
  place.reset();
  CHECK_FALSE(b->add(1));
  copy.reset();
  CHECK(b->add(1));
}

TEST_CASE("backlog: threads never get more places than there are") {
  backlog b(3);
  std::atomic<int> inside{0}, peak{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        if (!b.add(1)) continue;
        const int now = ++inside;
        for (int seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);) {
        }
        --inside;
        b.remove(1);
      }
    });
  for (auto& t : threads) t.join();
  CHECK(peak > 0);
  CHECK(peak <= 3);
}
