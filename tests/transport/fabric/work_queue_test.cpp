#include "transport/fabric/work_queue.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

using troupe::work_queue;

namespace {
struct item {
  item* next = nullptr;
  int producer = 0;
  int number = 0;
};
}  // namespace

TEST_CASE("a queue returns all items, in the order of each producer") {
  constexpr int producers = 3, each = 20'000;
  work_queue<item> queue;
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < each; ++i) queue.push(new item{nullptr, p, i});
    });
  }
  std::vector<int> next(producers, 0);
  size_t total = 0;
  while (total < producers * each) {
    total += queue.drain([&](item* raw) {
      const std::unique_ptr<item> owned(raw);
      REQUIRE(owned->number == next[static_cast<size_t>(owned->producer)]++);
    });
  }
  for (auto& t : threads) t.join();
  CHECK(queue.empty());
}

TEST_CASE("items pushed while draining come in the next round") {
  work_queue<item> queue;
  queue.push(new item{});
  const auto push_again = [&](item* raw) { queue.push(raw); };
  CHECK(queue.drain(push_again) == 1);
  CHECK(!queue.empty());
  CHECK(queue.drain([](item* raw) { delete raw; }) == 1);
  CHECK(queue.drain([](item* raw) { delete raw; }) == 0);
}
