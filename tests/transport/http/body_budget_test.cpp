#include "transport/http/body_budget.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace troupe {
namespace {

TEST_CASE("a body may grow while at least its own size stays free") {
  body_budget budget(100);
  body_share one(budget);
  CHECK(one.grow(50));
  CHECK_FALSE(one.grow(51));
  CHECK(budget.in_use() == 50);
  body_share two(budget);
  CHECK(two.grow(25));
  CHECK_FALSE(two.grow(26));
  body_share three(budget);
  CHECK(three.grow(12));
  CHECK_FALSE(three.grow(13));
}

TEST_CASE("a body larger than a share is admitted alone, and then counts") {
  body_budget budget(100);
  {
    body_share large(budget), other(budget);
    CHECK_FALSE(large.grow(80));
    CHECK(large.grow_alone(80));
    CHECK(budget.in_use() == 80);
    CHECK_FALSE(other.grow_alone(80));
    CHECK_FALSE(other.grow(11));
    CHECK(other.grow(10));
  }
  CHECK(budget.in_use() == 0);
}

TEST_CASE("the memory of a body is returned") {
  body_budget budget(100);
  {
    body_share one(budget);
    CHECK(one.grow(10));
    CHECK(one.grow(40));
    auto moved = std::move(one);
    CHECK(budget.in_use() == 40);
    CHECK(moved.grow(50));
  }
  CHECK(budget.in_use() == 0);
}

TEST_CASE("a small body fits beside any number of large ones, within the budget") {
  body_budget budget(1'000'000);
  std::vector<body_share> greedy;
  for (int i = 0; i < 5000; ++i) {
    auto& g = greedy.emplace_back(budget);
    for (uint64_t bytes = 16; g.grow(bytes); bytes += 16) {
    }
  }
  CHECK(budget.in_use() <= 1'000'000);
  body_share all_at_once(budget);
  CHECK_FALSE(all_at_once.grow(500'000));

  // Greedy from the start, and growing together: each ends with about an equal share.
  greedy.clear();
  for (int i = 0; i < 99; ++i) greedy.emplace_back(budget);
  for (uint64_t bytes = 100; bytes < 100'000; bytes += 100)
    for (auto& g : greedy) g.grow(bytes);
  CHECK(budget.in_use() <= 1'000'000);
  body_share small(budget);
  CHECK(small.grow(4096));
}

}  // namespace
}  // namespace troupe
