#include "policies/nexus_matchmaking.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

time_point ms(double t) { return time_point{from_ms(t)}; }

struct stage {
  nexus_matchmaking policy;
  explicit stage(std::vector<std::vector<model_id>> models_by_slot) {
    for (uint32_t s = 0; s < models_by_slot.size(); ++s) {
      policy.add_slot(slot_id{s}, ms(0));
      policy.set_models(slot_id{s}, models_by_slot[s]);
    }
  }
  void offer(uint32_t model, time_point latest = never) {
    policy.set_candidate(model_id{model}, {1, long_ago, latest}, {});
  }
  std::vector<match> poll(time_point now) {
    std::vector<match> out;
    policy.poll(now, out);
    return out;
  }
};

constexpr model_id a{0}, b{1}, c{2};

}  // namespace

TEST_CASE("the models of a Nexus backend take turns") {
  stage s({{a, b, c}});
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
  stage s({{a}, {b}});
  s.offer(1);
  const auto m = s.poll(ms(0));
  REQUIRE(m.size() == 1);
  CHECK(m[0].slot == slot_id{1});
  s.policy.occupy(b, slot_id{1}, ms(10));
  s.offer(1);
  CHECK(s.poll(ms(5)).empty());  // the other slot is idle, and stays so
  CHECK(s.poll(ms(10)).size() == 1);
}

TEST_CASE("who has nothing to run, or nothing in time, loses its turn") {
  stage s({{a, b, c}});
  s.offer(0, ms(1));
  s.offer(2);
  const auto m = s.poll(ms(2));
  REQUIRE(m.size() == 1);
  CHECK(m[0].model == c);
  s.policy.occupy(c, slot_id{0}, ms(3));
  CHECK(s.policy.wake_at() == never);
}

TEST_CASE("a slot or a model that goes away is matched no more, and comes back empty") {
  stage s({{a}});
  s.offer(0);
  s.policy.remove_slot(slot_id{0});
  CHECK(s.poll(ms(0)).empty());
  s.policy.add_slot(slot_id{0}, ms(0));
  CHECK(s.poll(ms(0)).empty());
  s.policy.set_models(slot_id{0}, std::vector{a});
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.remove_model(a, ms(1));
  CHECK(s.poll(ms(1)).empty());
  s.offer(0);
  CHECK(s.poll(ms(1)).size() == 1);
}
