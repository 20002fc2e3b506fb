#include "policies/placement/partition_arrangement.hpp"

#include <doctest/doctest.h>

#include "tests/policies/placement/partition_problems.hpp"

using namespace troupe;

namespace {

partition_arrangement arranged(const partition_problem& p, random_stream& random) {
  partition_arrangement a(p);
  for (uint32_t i = 0; i < p.models.size(); ++i)
    a.insert(i, static_cast<uint32_t>(random.below(p.parts.size())));
  return a;
}

void check_same(const partition_score& foreseen, const partition_arrangement& a, const partition_problem& p) {
  const auto q = judge(p, a.assignment());
  CHECK(foreseen.objective == doctest::Approx(q.objective).epsilon(1e-9));
  CHECK(foreseen.value == doctest::Approx(a.now().value).epsilon(1e-9));
  // `may_move` and `may_swap` enforce the limit of the cost, which is not part of the score
  const auto cost = q.cost > p.max_cost ? q.cost / p.max_cost - 1 : 0;
  CHECK(foreseen.excess == doctest::Approx(q.excess - cost).epsilon(1e-9));
}

}  // namespace

TEST_CASE("the predicted result of a move or a swap is the actual one") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto p = random_problem(seed, 20, 2 + seed % 4);
    if (seed % 2 == 0) limit(p, 0.05);
    if (seed % 3 == 0) place(p, seed);
    p.memory_weight = seed % 5 == 0 ? 0.3 : 1;
    random_stream random(seed, "changes");
    auto a = arranged(p, random);
    for (int n = 0; n < 200; ++n) {
      const auto x = static_cast<uint32_t>(random.below(p.models.size()));
      const auto y = static_cast<uint32_t>(random.below(p.models.size()));
      const auto to = static_cast<uint32_t>(random.below(p.parts.size()));
      if (n % 2 == 0 && to != a.part_of(x)) {
        const auto foreseen = a.after_move(x, to);
        a.move(x, to);
        check_same(foreseen, a, p);
      } else if (a.part_of(x) != a.part_of(y)) {
        const auto foreseen = a.after_swap(x, y);
        a.swap(x, y);
        check_same(foreseen, a, p);
      }
    }
  }
}

TEST_CASE("a change that would cost too much is not allowed, one that lowers the cost is") {
  auto p = random_problem(1, 4, 2);
  p.current = {0, 0, 1, 1};
  p.max_cost = 3;  // one model may move
  partition_arrangement a(p);
  for (uint32_t i = 0; i < 4; ++i) a.insert(i, p.current[i]);
  REQUIRE(a.may_move(0, 1));
  a.move(0, 1);
  CHECK_FALSE(a.may_move(1, 1));
  CHECK_FALSE(a.may_swap(1, 2));
  CHECK(a.may_move(0, 0));
}
