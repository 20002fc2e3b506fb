#include "policies/baselines/shepherd.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct shepherd_stage {
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
  shepherd_stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 3);
  s.offer(1, 5);
  s.offer(2, 5);
  const auto m = s.poll(ms(1));
  REQUIRE(m.size() == 1);
  CHECK(m[0].model == model_id{1});
  CHECK_FALSE(m[0].preempts);
  s.policy.occupy(model_id{1}, slot_id{0}, ms(10));
  CHECK(s.policy.wake_at() == long_ago);  // the change may allow a preemption
  CHECK(s.poll(ms(1)).empty());
  CHECK(s.policy.wake_at() == ms(10));
  CHECK(s.poll(ms(10)).at(0).model == model_id{2});
}

TEST_CASE("Shepherd stops the smallest running batch for one that is three times as large, and no other") {
  shepherd_stage s;
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
  shepherd_stage s;
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
  shepherd_stage s;
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

TEST_CASE("Shepherd preempts no slot with two batches until one of them is done") {
  shepherd_stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 1);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.occupy(model_id{0}, slot_id{0}, never);  // two are in flight
  s.offer(1, 10);
  CHECK(s.poll(ms(1)).empty());
  CHECK(s.policy.wake_at() == never);
  s.policy.set_free_at(slot_id{0}, ms(9));  // one of them is done
  const auto m = s.poll(ms(2));
  REQUIRE(m.size() == 1);
  CHECK(m[0].preempts);
}

TEST_CASE("a batch that Shepherd's match should stop continues if the slot reports so") {
  shepherd_stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 2);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.occupy(model_id{0}, slot_id{0}, ms(10));
  s.offer(1, 7);
  REQUIRE(s.poll(ms(1)).at(0).preempts);
  s.policy.occupy(model_id{1}, slot_id{0}, ms(10));  // it had nothing to run
  s.policy.set_rows(slot_id{0}, 2);
  s.offer(2, 7);
  CHECK(s.poll(ms(2)).at(0).preempts);  // 7 ≥ 3.03 · 2; the running batch is smaller
  s.policy.occupy(model_id{2}, slot_id{0}, ms(12));
  s.policy.set_rows(slot_id{0}, 0);
  s.offer(3, 1000);
  CHECK(s.poll(ms(3)).empty());  // no batch to preempt is known
  CHECK(s.policy.wake_at() == ms(12));
}

TEST_CASE("Shepherd gives and takes only slots that have the model") {
  shepherd_stage s;
  const model_id small{0}, large{1};
  for (uint32_t i = 0; i < 3; ++i) s.policy.add_slot(slot_id{i}, ms(i));
  s.policy.set_models(slot_id{0}, std::vector{small});
  s.policy.set_models(slot_id{1}, std::vector{small, large});
  s.policy.set_models(slot_id{2}, std::vector{small});
  s.offer(1, 5);
  CHECK(s.poll(ms(0)).empty());  // slot 0 is free, but does not have the model
  CHECK(s.policy.wake_at() == ms(1));
  s.offer(0, 1);
  CHECK(s.poll(ms(0)).at(0).slot == slot_id{0});  // the larger one does not block it
  s.policy.occupy(small, slot_id{0}, ms(10));
  CHECK(s.poll(ms(0.5)).empty());
  CHECK(s.policy.wake_at() == ms(1));
  CHECK(s.poll(ms(1)).at(0).slot == slot_id{1});
  s.policy.occupy(large, slot_id{1}, ms(10));
  s.offer(0, 2);
  CHECK(s.poll(ms(2)).at(0).slot == slot_id{2});
  s.policy.occupy(small, slot_id{2}, ms(20));
  s.offer(1, 50);
  const auto m = s.poll(ms(3));  // slots 0 and 2 run smaller batches
  REQUIRE(m.size() == 1);
  CHECK(m[0].slot == slot_id{1});
  CHECK(m[0].preempts);
}

TEST_CASE("Shepherd sleeps until just before the end of a batch, then matches the largest candidate") {
  shepherd_stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 9);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.occupy(model_id{0}, slot_id{0}, ms(10));
  s.policy.set_candidate(model_id{1}, {8, long_ago, never}, from_ms(1));
  s.policy.set_candidate(model_id{2}, {7, long_ago, never}, from_ms(3));
  CHECK(s.poll(ms(1)).empty());
  CHECK(s.policy.wake_at() == ms(9));
  CHECK(s.poll(ms(8)).empty());
  CHECK(s.policy.wake_at() == ms(9));  // later than now, or its owner would never sleep
  const auto m = s.poll(ms(9));
  REQUIRE(m.size() == 1);
  CHECK(m[0].model == model_id{1});
  CHECK(m[0].free_at == ms(10));
}

TEST_CASE("an answer to a match does not count for a slot that was removed and added since") {
  shepherd_stage s;
  s.policy.add_slot(slot_id{0}, ms(0));
  s.offer(0, 1);
  REQUIRE(s.poll(ms(0)).size() == 1);
  s.policy.add_slot(slot_id{0}, ms(5));
  s.policy.occupy(model_id{0}, slot_id{0}, ms(100));
  s.offer(1, 1);
  CHECK(s.poll(ms(4)).empty());
  CHECK(s.poll(ms(5)).size() == 1);
}
