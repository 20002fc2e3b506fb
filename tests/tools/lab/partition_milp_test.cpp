// The search against the proven optimum.
#include "tools/lab/partition_milp.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "policies/placement/partition_search.hpp"
#include "tests/policies/placement/partition_problems.hpp"

using namespace troupe;

namespace {

/// `search_partition` is within this factor of the optimum on every problem below.
constexpr double factor = 1.02;

void compare(const partition_problem& p, uint64_t seed, int& feasible) {
  const auto found = search_partition(p, seed, {300'000, {}});
  const auto best =
      solve_partition(p, found.problem.empty() ? found.assignment : std::vector<uint32_t>{}, {60s});
  CAPTURE(seed);
  REQUIRE(best.proven);
  CHECK(found.problem.empty() == best.best.problem.empty());
  if (!best.best.problem.empty()) return;
  ++feasible;
  CHECK(best.best.quality.feasible());
  CHECK(found.quality.objective <= factor * best.best.quality.objective + 1e-6);
  CHECK(best.best.quality.objective <= found.quality.objective + 1e-6);
}

}  // namespace

TEST_CASE("the search is within a fiftieth of the proven optimum") {
  int feasible = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed)
    compare(random_problem(seed, 6 + seed % 5, 2 + seed % 2), seed, feasible);
  CHECK(feasible == 24);
}

TEST_CASE("the search finds a feasible partition whenever one exists") {
  int feasible = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    auto p = random_problem(seed, 6 + seed % 5, 2 + seed % 2);
    limit(p, seed % 3 == 0 ? 0.05 : 0.15);
    compare(p, seed, feasible);
  }
  CHECK(feasible >= 8);
  CHECK(feasible < 24);  // some are not
}

TEST_CASE("the search is within a fiftieth of the optimum if only little may change") {
  int feasible = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    auto p = random_problem(seed, 7 + seed % 3, 3);
    place(p, seed);
    if (seed % 2 == 0) p.max_cost = 4;
    compare(p, seed, feasible);
  }
  CHECK(feasible == 16);
}

TEST_CASE("the result is never worse than the start, and a bound limits its distance from the optimum") {
  const auto p = random_problem(1, 40, 5);
  const auto start = search_partition(p, 1, {20'000, {}});
  const auto r = solve_partition(p, start.assignment, {500ms, 200});
  CHECK_FALSE(r.proven);
  CHECK(r.best.quality.objective <= start.quality.objective);
  CHECK(r.best.quality.objective == judge(p, r.best.assignment).objective);
  CHECK(r.lower_bound <= r.best.quality.objective);
}

TEST_CASE("a problem that cannot be solved is not sent to CBC") {
  auto p = random_problem(1, 10, 2);
  for (auto& part : p.parts) part.max_bytes = 1;
  const auto r = solve_partition(p);
  CHECK(r.proven);
  CHECK(r.best.problem == impossible(p));
  CHECK(solve_partition(random_problem(1, 0, 2)).best.problem.empty());
}

TEST_CASE("two threads solve two problems") {
  const auto p = random_problem(2, 9, 3), q = random_problem(3, 9, 3);
  const auto alone =
      std::pair{solve_partition(p).best.quality.objective, solve_partition(q).best.quality.objective};
  for (int n = 0; n < 5; ++n) {
    double first = 0, second = 0;
    std::thread other([&] { first = solve_partition(p).best.quality.objective; });
    second = solve_partition(q).best.quality.objective;
    other.join();
    CHECK(first == doctest::Approx(alone.first));
    CHECK(second == doctest::Approx(alone.second));
  }
}
