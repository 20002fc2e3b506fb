#include "policies/placement/partition.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace troupe;

namespace {

partition_problem four_models() {
  partition_problem p;
  p.models = {{"a", 30, 100, 10}, {"b", 10, 300, 5}, {"c", 20, 200, 20}, {"d", 20, 200, 0}};
  p.parts.resize(2);
  return p;
}

}  // namespace

TEST_CASE("a partition is judged by its largest deviations from the fair shares") {
  const auto p = four_models();
  const auto even = judge(p, {0, 0, 1, 1});
  CHECK(even.objective == doctest::Approx(0));
  CHECK(even.rate_imbalance == doctest::Approx(0));
  CHECK(even.feasible());

  // rates 50 and 30 of 40 each, parameters 300 and 500 of 400 each
  const auto q = judge(p, {0, 1, 0, 1});
  CHECK(q.rate_deviation == doctest::Approx(0.25));
  CHECK(q.memory_deviation == doctest::Approx(0.25));
  CHECK(q.rate_imbalance == doctest::Approx(0.5));  // (max - min) / average
  CHECK(q.memory_imbalance == doctest::Approx(0.5));
  CHECK(q.objective == doctest::Approx(0.5));
}

TEST_CASE("the weight counts memory") {
  auto p = four_models();
  p.memory_weight = 3;
  CHECK(judge(p, {0, 1, 0, 1}).objective == doctest::Approx(0.25 + 3 * 0.25));
}

TEST_CASE("a larger sub-cluster's fair share of the rates is larger, that of parameters is not") {
  auto p = four_models();
  p.parts[0].size = 3;
  const auto q = judge(p, {0, 0, 0, 1});  // rates 60 of 60, 20 of 20; parameters 600 and 200 of 400 each
  CHECK(q.rate_deviation == doctest::Approx(0));
  CHECK(q.memory_deviation == doctest::Approx(0.5));
}

TEST_CASE("memory is the parameters of all models and the largest batch memory of one") {
  auto p = four_models();
  for (auto& part : p.parts) part.max_bytes = 420;
  CHECK(judge(p, {0, 0, 1, 1}).feasible());  // 400 + 10, 400 + 20
  p.parts[1].max_bytes = 419;
  const auto q = judge(p, {0, 0, 1, 1});
  CHECK_FALSE(q.feasible());
  CHECK(q.excess == doctest::Approx(1.0 / 419));
  CHECK(q.broken == "the models of sub-cluster 1 need 420B on each device, which has 419B");
  p.parts[1].name = "right";
  p.parts[1].max_rate = 39;
  CHECK(judge(p, {0, 0, 1, 1}).broken ==
        "the models of sub-cluster 'right' receive 40 requests a second, it can serve 39");
}

TEST_CASE("a change costs its unloading and loading, and placing a new model costs nothing") {
  auto p = four_models();
  p.current = {0, 0, 1, no_part};
  CHECK(judge(p, {0, 0, 1, 1}).cost == 0);
  CHECK(judge(p, {1, 0, 1, 1}).cost == 2);
  p.move_costs = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(judge(p, {1, 0, 0, 0}).cost == doctest::Approx(1 + 2 + 5 + 6));
  p.max_cost = 13.9;
  CHECK(judge(p, {1, 0, 0, 0}).broken == "the changes cost 14, the limit is 13.9");
}

TEST_CASE("an impossible problem is reported in one sentence, with numbers") {
  auto p = four_models();
  CHECK(impossible(p).empty());
  for (auto& part : p.parts) part.max_bytes = 399;
  CHECK(impossible(p) ==
        "the models have 800B of parameters, the 2 sub-clusters hold 798B; add sub-clusters or undeploy "
        "models");
  for (auto& part : p.parts) part.max_bytes = 304;
  CHECK(impossible(p) == "model 'b' alone needs 305B, the largest device has 304B");
  p.parts = {{}, {}};
  for (auto& part : p.parts) part.max_rate = 39;
  CHECK(impossible(p) ==
        "the models receive 80 requests a second, the 2 sub-clusters can serve 78; add sub-clusters");
  p.parts.resize(1);
  p.parts[0].max_rate = 12'345'600;
  p.parts[0].max_bytes = 25e9;
  p.models[0].static_bytes = 26e9;
  CHECK(impossible(p) == "model 'a' alone needs 26 GB, the largest device has 25 GB");
}

TEST_CASE("an invalid problem is an error of the caller") {
  auto p = four_models();
  p.parts.clear();
  CHECK_THROWS_AS(impossible(p), std::invalid_argument);
  p = four_models();
  p.current = {0};
  CHECK_THROWS_AS(impossible(p), std::invalid_argument);
  p = four_models();
  p.current = {0, 1, 2, 0};
  CHECK_THROWS_AS(impossible(p), std::invalid_argument);
  p = four_models();
  p.models[2].rate = -1;
  CHECK_THROWS_AS(impossible(p), std::invalid_argument);
  p = four_models();
  p.move_costs = {1, 2, 3};
  CHECK_THROWS_AS(impossible(p), std::invalid_argument);
  CHECK_THROWS_AS(judge(four_models(), {0, 1}), std::invalid_argument);
}
