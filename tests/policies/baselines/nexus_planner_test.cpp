#include "policies/baselines/nexus_planner.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/three_models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr time_point begin{};

model_profile profile(duration slo = 50ms, double weight = 1) { return {{1ms, 5ms}, slo, 64, weight}; }

/// The planned rate of a model, over all slots.
double rate(const nexus_planner::plan& p, model_id m) {
  double sum = 0;
  for (const auto& [slot, placed] : p)
    for (const auto& x : placed) sum += x.model == m ? x.rate : 0;
  return sum;
}

struct planner : nexus_planner {
  explicit planner(uint32_t slots, std::vector<model_id> models) {
    for (const auto m : models) set_profile(m, profile());
    for (uint32_t s = 0; s < slots; ++s) set_slot(slot_id{s}, models);
  }
};

}  // namespace

TEST_CASE(
    "nexus_planner: a plan is due when slots or models change, and only then as long as there is no load") {
  planner p(2, {model_a, model_b});
  CHECK(p.due() == long_ago);
  CHECK(p.make(begin).size() == 2);
  CHECK(p.due() == never);
  p.set_profile(model_a, profile());
  p.set_slot(slot_id{0}, std::vector{model_b, model_a});
  p.remove_slot(slot_id{9});
  p.set_profile(model_c, {});
  CHECK(p.due() == never);  // nothing new
  p.set_profile(model_a, profile(40ms));
  CHECK(p.due() == long_ago);
  p.make(begin);
  p.remove_slot(slot_id{0});
  CHECK(p.due() == long_ago);
  CHECK(p.make(begin).size() == 1);
  p.set_profile(model_a, {});
  const auto last = p.make(begin);
  CHECK(rate(last, model_a) == 0);
  CHECK(rate(last, model_b) > 0);
}

TEST_CASE("nexus_planner: weights count until rates were measured, then those, once an epoch") {
  planner p(8, {model_a, model_b});
  p.set_profile(model_b, profile(50ms, 3));
  auto now = begin;
  const auto first = p.make(now);
  CHECK(rate(first, model_b) / rate(first, model_a) == doctest::Approx(3).epsilon(0.01));
  now += 3s;
  p.count_requests(model_a, 4000, now);
  CHECK(p.due() == now + nexus_planner::epoch);
  p.count_requests(model_b, 1000, now + 5s);
  CHECK(p.due() == now + nexus_planner::epoch);
  now = p.due();
  const auto second = p.make(now);
  CHECK(rate(second, model_a) / rate(second, model_b) == doctest::Approx(4).epsilon(0.01));
  CHECK(p.due() == never);
  p.count_requests(model_b, 10, now);
  CHECK(p.due() == now + nexus_planner::epoch);
  const auto third = p.make(p.due());  // a had no requests: one request a second is assumed, like b's
  CHECK(rate(third, model_a) == doctest::Approx(rate(third, model_b)).epsilon(0.01));
}

TEST_CASE("nexus_planner: a model that comes between epochs is planned for the mean of the others") {
  planner p(8, {model_a, model_b});
  p.make(begin);
  p.count_requests(model_a, 1000, begin);
  p.count_requests(model_b, 3000, begin);
  p.make(p.due());
  p.set_profile(model_c, profile());
  for (uint32_t s = 0; s < 8; ++s) p.set_slot(slot_id{s}, std::vector{model_a, model_b, model_c});
  const auto plan = p.make(begin + 11s);
  CHECK(rate(plan, model_c) / rate(plan, model_a) == doctest::Approx(2).epsilon(0.01));
  CHECK(rate(plan, model_b) / rate(plan, model_a) == doctest::Approx(3).epsilon(0.01));
}

TEST_CASE("nexus_planner: models are placed only where they are loaded, and divided among their groups") {
  nexus_planner p;
  for (const auto m : {model_a, model_b, model_c}) p.set_profile(m, profile());
  p.set_slot(slot_id{0}, std::vector{model_a, model_b});
  p.set_slot(slot_id{1}, std::vector{model_a, model_b});
  p.set_slot(slot_id{2}, std::vector{model_a, model_c});
  p.set_slot(slot_id{3}, std::vector{model_id{7}});  // an unknown model
  const auto plan = p.make(begin);
  CHECK_FALSE(plan.contains(slot_id{3}));
  for (const auto& [slot, placed] : plan)
    for (const auto& x : placed)
      CHECK((x.model == model_a || x.model == (slot.value == 2 ? model_c : model_b)));
  double there = 0;
  for (const auto& x : plan.at(slot_id{2})) there += x.model == model_a ? x.rate : 0;
  CHECK(there > 0);
  CHECK(there < rate(plan, model_a));
  CHECK(rate(plan, model_c) > 0);
}

TEST_CASE("nexus_planner: batches are no larger than the model's") {
  planner p(4, {model_a});
  CHECK(p.make(begin).at(slot_id{0})[0].batch > 4);
  auto small = profile();
  small.max_rows = 4;
  p.set_profile(model_a, small);
  const auto plan = p.make(begin);
  CHECK(plan.size() == 4);
  for (const auto& [slot, placed] : plan) CHECK(placed[0].batch <= 4);
}

TEST_CASE("nexus_planner: slots take models as long as turns are in time, but none with an infeasible SLO") {
  nexus_planner p;
  std::vector<model_id> models;
  for (uint32_t i = 0; i < 9; ++i) models.push_back(model_id{i});
  for (const auto m : models) p.set_profile(m, profile(m == model_id{4} ? 5ms : 12ms));  // ℓ(1) = 6 ms
  for (uint32_t s = 0; s < 2; ++s) p.set_slot(slot_id{s}, models);
  const auto plan = p.make(begin);
  CHECK(plan.at(slot_id{0}).size() == 4);
  CHECK(plan.at(slot_id{1}).size() == 4);
  CHECK(rate(plan, model_id{4}) == 0);
  CHECK(nexus_planner().make(begin).empty());
}
