#include "policies/baselines/nexus_matchmaking.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/policies/common/moments.hpp"
#include "tests/policies/common/three_models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Models that can share a slot in any number used here.
const model_profile shareable{{1ms, 5ms}, 200ms, 64};

struct nexus_stage {
  nexus_matchmaking policy;
  explicit nexus_stage(std::vector<std::vector<model_id>> models_by_slot) {
    for (uint32_t s = 0; s < models_by_slot.size(); ++s) {
      policy.add_slot(slot_id{s}, ms(0));
      policy.set_models(slot_id{s}, models_by_slot[s]);
      for (const auto m : models_by_slot[s]) policy.set_profile(m, shareable);
    }
  }
  void offer(uint32_t model, time_point latest = never) {
    policy.set_candidate(model_id{model}, {1, long_ago, latest}, {});
  }
  void offer_on(uint32_t model, std::vector<slot_id> slots) {
    policy.set_candidate_on(model_id{model}, {1, long_ago, never}, {}, slots);
  }
  std::vector<model_backends> told() {
    std::vector<model_backends> out;
    policy.take_backends(out);
    return out;
  }
  std::vector<match> poll(time_point now) {
    std::vector<match> out;
    policy.poll(now, out);
    return out;
  }
};

}  // namespace

TEST_CASE("the models of a Nexus backend take turns") {
  nexus_stage s({{model_a, model_b, model_c}});
  std::vector<uint32_t> order;
  for (int i = 0; i < 6; ++i) {
    for (const uint32_t m : {0, 1, 2}) s.offer(m);
    const auto m = s.poll(ms(10.0 * i));
    REQUIRE(m.size() == 1);
    order.push_back(m[0].model.value);
    s.policy.occupy(m[0].model, m[0].slot, ms(10.0 * i + 10));
    CHECK(s.policy.wake_at() == ms(10.0 * i + 10));
  }
  CHECK(order == std::vector<uint32_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("a model runs only where it is placed") {
  nexus_stage s({{model_a}, {model_b}});
  s.offer(1);
  const auto m = s.poll(ms(0));
  REQUIRE(m.size() == 1);
  CHECK(m[0].slot == slot_id{1});
  s.policy.occupy(model_b, slot_id{1}, ms(10));
  s.offer(1);
  CHECK(s.poll(ms(5)).empty());  // the other slot stays idle
  CHECK(s.poll(ms(10)).size() == 1);
}

TEST_CASE("a model with nothing to run in time loses its turn") {
  nexus_stage s({{model_a, model_b, model_c}});
  s.offer(0, ms(1));
  s.offer(2);
  const auto m = s.poll(ms(2));
  REQUIRE(m.size() == 1);
  CHECK(m[0].model == model_c);
  s.policy.occupy(model_c, slot_id{0}, ms(3));
  CHECK(s.policy.wake_at() == never);
}

TEST_CASE("a slot or a model that goes away is matched no more, and comes back empty") {
  nexus_stage s({{model_a}});
  s.offer(0);
  s.policy.remove_slot(slot_id{0});
  CHECK(s.poll(ms(0)).empty());
  s.policy.add_slot(slot_id{0}, ms(0));
  CHECK(s.poll(ms(0)).empty());
  s.policy.set_models(slot_id{0}, std::vector{model_a});
  s.offer(0);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.remove_model(model_a, ms(1));
  CHECK(s.poll(ms(1)).empty());
  s.offer(0);
  CHECK(s.poll(ms(1)).size() == 1);
}

TEST_CASE("queues get their backends after a change, and again when they use old ones") {
  nexus_stage s({{model_a, model_b}, {model_a, model_b}});
  s.poll(ms(0));
  auto told = s.told();
  REQUIRE(told.size() == 2);
  std::map<uint32_t, size_t> slots;
  for (const auto& t : told)
    for (const auto& x : t.of) ++slots[x.slot.value];
  CHECK(slots.size() == 2);
  CHECK(s.told().empty());

  s.offer(0);  // as from a queue that was just created
  s.poll(ms(1));
  told = s.told();
  REQUIRE(told.size() == 1);
  CHECK(told[0].model == model_a);
  s.offer(0);  // a queue does not know backends
  s.poll(ms(2));
  CHECK(s.told().empty());

  s.policy.remove_slot(slot_id{0});
  s.policy.remove_slot(slot_id{1});
  s.poll(ms(3));
  CHECK(s.told().size() == 2);
}

TEST_CASE("a candidate counts only on the slots that it is for, and where the model still is") {
  nexus_stage s({{model_a}, {model_a}});
  s.poll(ms(0));
  s.offer_on(0, {slot_id{1}});
  auto m = s.poll(ms(0));
  REQUIRE(m.size() == 1);
  CHECK(m[0].slot == slot_id{1});
  s.policy.occupy(model_a, slot_id{1}, ms(10));
  s.offer_on(0, {slot_id{1}, slot_id{7}});
  CHECK(s.poll(ms(5)).empty());
  CHECK(s.told().size() == 1);  // it runs on no slot 7
  CHECK(s.policy.wake_at() == ms(10));
}

TEST_CASE("a slot waits while the next model has an unanswered match elsewhere") {
  nexus_stage s({{model_a}, {model_a, model_b}});
  s.poll(ms(0));
  s.offer_on(1, {slot_id{1}});
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.occupy(model_b, slot_id{1}, ms(0));
  // Both want slot 1. It is a's turn there, but a has an open offer of slot 0.
  s.offer_on(0, {slot_id{0}, slot_id{1}});
  s.offer_on(1, {slot_id{1}});
  const auto first = s.poll(ms(0));
  REQUIRE(first.size() == 1);
  CHECK(first[0].model == model_a);
  CHECK(first[0].slot == slot_id{0});
  s.policy.occupy(model_a, slot_id{0}, ms(10));
  s.offer_on(0, {slot_id{1}});
  const auto second = s.poll(ms(0));
  REQUIRE(second.size() == 1);
  CHECK(second[0].model == model_a);
  CHECK(second[0].slot == slot_id{1});
  s.policy.occupy(model_a, slot_id{1}, ms(10));
  CHECK(s.policy.wake_at() == ms(10));  // b's turn
}

TEST_CASE("a slot with two orders is free again only when it is reported free") {
  nexus_stage s({{model_a}});
  s.offer(0);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.occupy(model_a, slot_id{0}, never);
  s.offer(0);
  CHECK(s.poll(ms(50)).empty());
  s.policy.set_free_at(slot_id{0}, ms(60));
  CHECK(s.policy.wake_at() == ms(60));
  REQUIRE(s.poll(ms(60)).size() == 1);
  s.policy.set_free_at(slot_id{0}, ms(70));  // promised: no effect
  CHECK(s.policy.wake_at() == never);
  s.policy.remove_slot(slot_id{0});
  s.policy.add_slot(slot_id{0}, ms(80));
  s.policy.set_models(slot_id{0}, std::vector{model_a});
  s.policy.occupy(model_a, slot_id{0}, ms(500));  // about the slot's old state
  s.offer(0);
  s.poll(ms(80));
  CHECK(s.told().size() > 0);
}

TEST_CASE("the plan follows the measured load") {
  nexus_stage s({{model_a, model_b}, {model_a, model_b}, {model_a, model_b}, {model_a, model_b}});
  s.poll(ms(0));
  const auto slots_of = [](const std::vector<model_backends>& told, model_id m) {
    for (const auto& t : told)
      if (t.model == m) return t.of.size();
    return size_t{0};
  };
  const auto even = s.told();
  s.policy.count_requests(model_a, 9000, ms(0));
  s.policy.count_requests(model_b, 10, ms(0));
  CHECK(s.policy.wake_at() == ms(10'000));
  s.poll(ms(10'000));
  const auto skewed = s.told();
  CHECK(slots_of(skewed, model_a) > slots_of(even, model_a));
}
