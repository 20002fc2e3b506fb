#include "policies/shepherd.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

time_point ms(double t) { return time_point{from_ms(t)}; }

struct stage {
  shepherd policy;
  void offer(uint32_t model, uint32_t rows, time_point latest = never) {
    policy.set_candidate(model_id{model}, {rows, long_ago, latest}, {});
  }
  std::vector<match> poll(time_point now) {
    std::vector<match> out;
    policy.poll(now, out);
    return out;
  }
};

}  // namespace

TEST_CASE("Shepherd gives a free slot to the largest batch") {
  stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 3);
  s.offer(1, 5);
  s.offer(2, 5);
  const auto m = s.poll(ms(1));
  REQUIRE(m.size() == 1);
  CHECK(m[0].model == model_id{1});
  CHECK_FALSE(m[0].preempts);
  s.policy.occupy(model_id{1}, slot_id{0}, ms(10));
  CHECK(s.policy.wake_at() == long_ago);  // what changed may allow to preempt
  CHECK(s.poll(ms(1)).empty());
  CHECK(s.policy.wake_at() == ms(10));
  CHECK(s.poll(ms(10)).at(0).model == model_id{2});
}

TEST_CASE("Shepherd stops the smallest running batch for one that is three times as large, and no other") {
  stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.policy.add_slot(slot_id{1}, ms(0));
  s.offer(0, 3);
  s.offer(1, 2);
  REQUIRE(s.poll(ms(0)).size() == 2);
  s.policy.occupy(model_id{0}, slot_id{0}, ms(10));
  s.policy.occupy(model_id{1}, slot_id{1}, ms(10));
  s.offer(2, 6);  // 6 < 3.03 · 2
  CHECK(s.poll(ms(1)).empty());
  s.offer(2, 7);
  const auto m = s.poll(ms(2));
  REQUIRE(m.size() == 1);
  CHECK(m[0].preempts);
  CHECK(m[0].slot == slot_id{1});
  CHECK(m[0].free_at == ms(2));
  s.policy.occupy(model_id{2}, slot_id{1}, ms(12));
  s.offer(3, 9);  // 9 < 3.03 · 3
  CHECK(s.poll(ms(3)).empty());
  s.offer(3, 10);
  CHECK(s.poll(ms(3)).at(0).slot == slot_id{0});
}

TEST_CASE("a batch that has ended is not stopped, one that is too late is not run") {
  stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 1);
  s.poll(ms(0));
  s.policy.occupy(model_id{0}, slot_id{0}, ms(5));
  s.offer(1, 10, ms(4));
  CHECK(s.poll(ms(5)).empty());  // too late by then
  s.offer(1, 10);
  const auto m = s.poll(ms(5));
  REQUIRE(m.size() == 1);
  CHECK_FALSE(m[0].preempts);
}

TEST_CASE("a slot or a model that goes away is matched no more") {
  stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 1);
  s.policy.remove_slot(slot_id{0});
  CHECK(s.poll(ms(0)).empty());
  s.policy.add_slot(slot_id{0}, ms(0));
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.remove_model(model_id{0}, ms(1));  // its slot is free again
  s.offer(1, 1);
  CHECK(s.poll(ms(1)).at(0).slot == slot_id{0});
}
