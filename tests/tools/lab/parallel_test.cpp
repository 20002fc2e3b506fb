#include "tools/lab/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace troupe::lab;

TEST_CASE("every job runs once, whatever the number of threads") {
  for (const uint32_t threads : {1u, 2u, 7u, 100u}) {
    std::vector<std::atomic<int>> runs(50);
    for_each_parallel(runs.size(), threads, [&](size_t i) { ++runs[i]; });
    for (const auto& r : runs) CHECK(r == 1);
  }
  for_each_parallel(0, 4, [](size_t) { FAIL("there is no job"); });
}

TEST_CASE("an exception of a job is rethrown after the started jobs") {
  std::atomic<int> ended{0};
  CHECK_THROWS_WITH_AS(for_each_parallel(1000, 2,
                                         [&](size_t i) {
                                           if (i == 3) throw std::runtime_error("three");
                                           ++ended;
                                         }),
                       "three", std::runtime_error);
  CHECK(ended < 1000);
}
