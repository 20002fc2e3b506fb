#include "policies/placement/partition_search.hpp"

#include <doctest/doctest.h>

#include "tests/policies/placement/partition_problems.hpp"

using namespace troupe;

TEST_CASE("800 models over 20 sub-clusters are balanced to some thousandths, random search is nowhere near") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto p = random_problem(seed, 800, 20);
    const auto found = search_partition(p, seed, {4'000'000, {}});
    const auto random = random_partition(p, seed, {4'000, {}});
    REQUIRE(found.problem.empty());
    CHECK(found.quality.rate_imbalance < 0.003);
    CHECK(found.quality.memory_imbalance < 0.003);
    CHECK(random.quality.rate_imbalance > 50 * found.quality.rate_imbalance);
    CHECK(random.quality.memory_imbalance > 50 * found.quality.memory_imbalance);
  }
}

TEST_CASE("the result depends on problem and seed only, and its statistics are correct") {
  auto p = random_problem(1, 60, 6);
  limit(p, 0.1);
  const auto one = search_partition(p, 7, {300'000, {}});
  const auto same = search_partition(p, 7, {300'000, {}});
  CHECK(one.assignment == same.assignment);
  CHECK(one.steps == same.steps);
  CHECK(one.quality.objective == judge(p, one.assignment).objective);
  CHECK(random_partition(p, 7, {500, {}}).assignment == random_partition(p, 7, {500, {}}).assignment);
}

TEST_CASE("more steps are never worse") {
  const auto p = random_problem(3, 100, 7);
  auto before = search_partition(p, 1, {1'000, {}}).quality.objective;
  for (const uint64_t steps : {10'000, 100'000, 1'000'000}) {
    const auto now = search_partition(p, 1, {steps, {}}).quality.objective;
    CHECK(now <= before * (1 + 1e-9));
    before = now;
  }
}

TEST_CASE("changes cost at most C_max, and a higher C_max allows a better result") {
  auto p = random_problem(5, 200, 8);
  place(p, 5);
  const auto chaos = judge(p, p.current).objective;
  double before = chaos;
  for (const double max_cost : {0.0, 4.0, 20.0, 100.0}) {
    p.max_cost = max_cost;
    const auto found = search_partition(p, 1, {500'000, {}});
    REQUIRE(found.problem.empty());
    CHECK(found.quality.cost <= max_cost);
    CHECK(found.quality.objective <= before * (1 + 1e-9));
    if (max_cost == 0) CHECK(found.assignment == p.current);
    before = found.quality.objective;
  }
  CHECK(before < 0.1 * chaos);
}

TEST_CASE("a model without a sub-cluster gets one under any limit on changes") {
  auto p = random_problem(6, 40, 4);
  place(p, 6);
  p.current[3] = p.current[17] = no_part;
  p.max_cost = 0;
  const auto found = search_partition(p, 1, {100'000, {}});
  REQUIRE(found.problem.empty());
  for (size_t i = 0; i < p.current.size(); ++i)
    if (p.current[i] != no_part) CHECK(found.assignment[i] == p.current[i]);
  CHECK(found.assignment[3] < 4);
}

TEST_CASE("an assignment that breaks its limits is mended with few changes") {
  auto p = random_problem(8, 40, 4);
  limit(p, 0.2);
  p.current.assign(40, 0);
  p.max_cost = 2 * 32;
  const auto found = search_partition(p, 1, {300'000, {}});
  CHECK(found.problem.empty());
  CHECK(found.quality.feasible());
  p.max_cost = 2 * 2;
  const auto stuck = search_partition(p, 1, {100'000, {}});
  CHECK(stuck.problem.find(
            "no partition within the limits was found; in the best one the models of sub-cluster 0 ") == 0);
}

TEST_CASE("it stops on a command") {
  const auto p = random_problem(1, 300, 10);
  int asked = 0;
  const auto found = search_partition(p, 1, {1'000'000'000, [&] { return ++asked >= 5; }});
  CHECK(found.steps < 1'000'000);
  CHECK(found.problem.empty());
  asked = 0;
  CHECK(random_partition(p, 1, {1'000'000'000, [&] { return ++asked >= 5; }}).steps < 1'000);
}

TEST_CASE("no models, one model, one sub-cluster, models without requests") {
  CHECK(search_partition(random_problem(1, 0, 3), 1, {1'000, {}}).problem.empty());
  CHECK(search_partition(random_problem(1, 1, 3), 1, {1'000, {}}).assignment.size() == 1);
  CHECK(search_partition(random_problem(1, 9, 1), 1, {1'000, {}}).quality.objective == doctest::Approx(0));
  auto idle = random_problem(1, 12, 3);
  for (auto& m : idle.models) m.rate = 0;
  const auto found = search_partition(idle, 1, {10'000, {}});
  CHECK(found.problem.empty());
  CHECK(found.quality.rate_deviation == 0);
}
