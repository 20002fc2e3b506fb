#include "policies/baselines/nexus.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr slot_id first_slot{1}, second_slot{4}, third_slot{6};

/// 1 ms a row and 5 ms a batch; the SLO is 30 ms: batches of at most 10.
struct queue {
  nexus policy;
  uint64_t last_id = 0;

  queue() : policy(parameters(), shedding::window) {}
  static batching_parameters parameters() {
    batching_parameters p;
    p.latency = {1ms, 5ms};
    p.slo = 30ms;
    p.slots = 8;
    return p;
  }
  void plan(std::vector<backend> of, time_point now = ms(0)) { policy.set_backends(of, now); }
  void arrive(int count, time_point deadline = ms(30), time_point now = ms(0)) {
    for (int i = 0; i < count; ++i) policy.add({deadline, request_id{++last_id}}, now);
  }
  std::vector<slot_id> slots(time_point now = ms(0)) {
    policy.update(now, long_ago);
    return {policy.slots().begin(), policy.slots().end()};
  }
  std::vector<queued_request> grant(slot_id slot, time_point now = ms(0)) {
    policy.choose(slot, policy.window());
    policy.update(now, now);
    std::vector<queued_request> out;
    policy.take_batch(out);
    return out;
  }
  std::vector<dropped_queued_request> dropped() {
    std::vector<dropped_queued_request> out;
    policy.take_dropped(out);
    return out;
  }
};

}  // namespace

TEST_CASE("nexus: without a plan it runs wherever a slot is granted") {
  queue q;
  q.arrive(12);
  CHECK(q.slots().empty());
  CHECK(q.policy.window().rows == 10);
  CHECK(q.grant(third_slot).size() == 10);
  CHECK(q.policy.queued_rows() == 2);
  CHECK(q.slots().empty());
  CHECK(q.policy.window().rows == 2);
}

TEST_CASE("nexus: backends get requests as their weights say, evenly") {
  queue q;
  q.plan({{first_slot, 10, 1}, {second_slot, 10, 3}});
  q.arrive(4);
  CHECK(q.slots() == std::vector{first_slot, second_slot});
  std::map<slot_id, std::vector<uint64_t>> got;
  for (const auto slot : {first_slot, second_slot})
    for (const auto& t : q.grant(slot)) got[slot].push_back(t.id.value);
  CHECK(got[first_slot].size() == 1);
  CHECK(got[second_slot].size() == 3);
  q.arrive(400, ms(60));
  CHECK(q.policy.queued_requests() == 400);
  std::vector<queued_request> left;
  q.policy.remove_if([](const queued_request& t) { return t.id.value % 2 == 0; }, left);
  CHECK(left.size() == 200);
  CHECK(q.policy.queued_rows() == 200);
}

TEST_CASE("nexus: a slot runs what was sent to its backend, in batches of the size planned for it") {
  queue q;
  q.plan({{first_slot, 2, 1}, {second_slot, 10, 1}});
  q.arrive(10);
  CHECK(q.slots() == std::vector{first_slot, second_slot});
  CHECK(q.policy.window().rows == 5);
  CHECK(q.grant(first_slot).size() == 2);
  CHECK(q.grant(second_slot).size() == 5);
  CHECK(q.slots() == std::vector{first_slot});
  CHECK(q.policy.window().rows == 2);
  CHECK(q.policy.queued_rows() == 3);
}

TEST_CASE("nexus: a slot that is no backend gets nothing, and changes nothing") {
  queue q;
  q.plan({{first_slot, 10, 1}});
  q.arrive(3);
  REQUIRE(q.slots().size() == 1);
  CHECK(q.grant(second_slot).empty());
  CHECK(q.policy.window().rows == 0);
  CHECK(q.slots() == std::vector{first_slot});
  CHECK(q.grant(first_slot).size() == 3);
}

TEST_CASE("nexus: requests of a backend that goes away run on the others, earliest deadline first") {
  queue q;
  q.plan({{first_slot, 10, 1}, {second_slot, 10, 1}});
  q.arrive(1, ms(26));
  q.arrive(1, ms(25));
  q.arrive(1, ms(24));
  q.plan({{second_slot, 10, 1}});
  CHECK(q.slots() == std::vector{second_slot});
  const auto batch = q.grant(second_slot);
  REQUIRE(batch.size() == 3);
  CHECK(batch[0].deadline == ms(24));
  CHECK(batch[2].deadline == ms(26));

  q.arrive(3);
  q.plan({});  // its slots are unknown now
  CHECK(q.slots().empty());
  CHECK(q.grant(first_slot).size() == 3);
  q.arrive(3);
  q.plan({{third_slot, 10, 1}});
  CHECK(q.slots() == std::vector{third_slot});
  CHECK(q.grant(third_slot).size() == 3);
  CHECK(q.dropped().empty());
}

TEST_CASE("nexus: every backend drops early for itself") {
  queue q;
  q.plan({{first_slot, 10, 1}, {second_slot, 3, 1}});
  // In time in a batch of 3, late in one of 10.
  q.arrive(8, ms(10));
  CHECK(q.slots() == std::vector{first_slot, second_slot});
  CHECK(q.policy.window().rows == 4);  // the largest batch that can still run
  q.arrive(30, ms(30));
  q.slots();
  const auto gone = q.dropped();
  CHECK(gone.size() == 4);
  for (const auto& d : gone) CHECK(d.reason == drop_reason::shed);
  CHECK(q.policy.queued_requests() == 34);
}

TEST_CASE("nexus: it wakes when the first backend's window closes, and the others are left alone") {
  queue q;
  q.plan({{first_slot, 10, 1}, {second_slot, 10, 1}});
  q.arrive(1, ms(30));
  q.arrive(1, ms(50));
  q.slots();
  CHECK(q.policy.wake_at() == ms(24) + 1ns);
  CHECK(q.policy.window().latest == ms(44));
  CHECK(q.slots(ms(24) + 1ns) == std::vector{second_slot});
  CHECK(q.dropped().size() == 1);
  CHECK(q.policy.wake_at() == ms(44) + 1ns);
}

TEST_CASE("nexus: the plan of a slot's candidate is the one that was offered") {
  queue q;
  q.plan({{first_slot, 10, 1}, {second_slot, 10, 1}});
  q.arrive(1, ms(30), ms(0));
  q.slots(ms(0));
  q.arrive(1, ms(40), ms(2));
  q.slots(ms(2));
  CHECK(q.policy.window().exec_at == ms(0));
  CHECK(q.policy.choose(second_slot, q.policy.window()).exec_at == ms(2));
  q.slots(ms(3));
  CHECK(q.policy.choose(first_slot, q.policy.window()).exec_at == ms(0));
}
