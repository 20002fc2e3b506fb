#include "policies/matchmaking/quarantine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>

#include "tests/policies/common/three_models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr model_id model_of_none{9};

/// Slots 0 and 1 on node 1, slot 2 on node 2, all with both models.
struct ward {
  ward() {
    add(0, 1);
    add(1, 1);
    add(2, 2);
  }
  void add(uint32_t slot, uint32_t node, std::vector<model_id> models = {model_a, model_b}) {
    slots.add(slot_id{slot}, {node_id{node}, {1}, role::gpu_worker, slot}, std::move(models)).accepts = true;
  }
  slot_record& at(uint32_t slot) { return *slots.find(slot_id{slot}); }
  void retry(model_id m) { q.add({m, {node_id{0}, {5}, role::model_queue, m.value}, ++sequence}); }
  void run(uint32_t slot) { at(slot).orders.push_back({{1}, model_a, never}); }

  slot_table slots;
  quarantine q;
  uint64_t sequence = 0;
};

std::vector<slot_id> slot_ids(std::initializer_list<uint32_t> all) {
  std::vector<slot_id> out;
  for (const auto i : all) out.push_back(slot_id{i});
  return out;
}

bool does_nothing(const quarantine::step& s) { return s.put_back.empty() && s.taken.empty() && !s.granted; }

}  // namespace

TEST_CASE("quarantine: without poison retries there is nothing to do") {
  ward w;
  CHECK(does_nothing(w.q.advance(w.slots)));
}

TEST_CASE(
    "quarantine: an idle node is taken and its lowest slot granted at once, of equals that of the lowest "
    "slot's") {
  ward w;
  w.retry(model_b);
  const auto s = w.q.advance(w.slots);
  CHECK(s.taken == slot_ids({0, 1}));
  REQUIRE(s.granted);
  CHECK(s.granted->first.model == model_b);
  CHECK(s.granted->first.sequence == 1);
  CHECK(s.granted->second == slot_id{0});
  CHECK(w.q.holds(w.at(1).worker));
  CHECK_FALSE(w.q.holds(w.at(2).worker));
  CHECK(w.q.runs(model_b, slot_id{0}));
  CHECK_FALSE(w.q.runs(model_b, slot_id{1}));
  CHECK_FALSE(w.q.runs(model_a, slot_id{0}));
  CHECK(does_nothing(w.q.advance(w.slots)));  // while it runs
}

TEST_CASE("quarantine: the least busy node is taken, by orders and promises") {
  ward w;
  w.at(1).promised = true;
  w.retry(model_a);
  CHECK(w.q.advance(w.slots).taken == slot_ids({2}));
}

TEST_CASE("quarantine: a busy node is taken at once and granted when it has nothing to do") {
  ward w;
  w.run(0);
  w.run(2);
  w.run(2);
  w.retry(model_a);
  auto s = w.q.advance(w.slots);
  CHECK(s.taken == slot_ids({0, 1}));
  CHECK_FALSE(s.granted);
  w.at(0).orders.clear();
  w.at(1).promised = true;
  CHECK(does_nothing(w.q.advance(w.slots)));
  w.at(1).promised = false;
  s = w.q.advance(w.slots);
  CHECK(s.taken.empty());
  CHECK(s.granted->second == slot_id{0});
}

TEST_CASE("quarantine: retries run in their order, one at a time, before the node is given back") {
  ward w;
  w.retry(model_a);
  w.retry(model_b);
  CHECK(w.q.advance(w.slots).granted->first.model == model_a);
  w.q.end_run();
  const auto second = w.q.advance(w.slots);
  CHECK(second.granted->first.model == model_b);
  CHECK(second.put_back.empty());
  w.q.end_run();
  auto s = w.q.advance(w.slots);
  std::sort(s.put_back.begin(), s.put_back.end());
  CHECK(s.put_back == slot_ids({0, 1}));
  CHECK(s.taken.empty());
  CHECK_FALSE(w.q.holds(w.at(0).worker));
}

TEST_CASE(
    "quarantine: a retry that only another node has the model of moves the quarantine there in one step") {
  ward w;
  w.add(3, 3, {model_of_none});
  w.retry(model_a);
  CHECK(w.q.advance(w.slots).granted);
  w.q.end_run();
  w.retry(model_of_none);
  const auto s = w.q.advance(w.slots);
  CHECK(s.put_back.size() == 2);
  CHECK(s.taken == slot_ids({3}));
  CHECK(s.granted->second == slot_id{3});
}

TEST_CASE("quarantine: a retry of a model without a node takes no node, and delays no other retry") {
  ward w;
  w.retry(model_of_none);
  CHECK(does_nothing(w.q.advance(w.slots)));
  w.retry(model_a);
  CHECK(w.q.advance(w.slots).granted->first.model == model_a);
}

TEST_CASE("quarantine: slots out of service and slots that accept no orders run no retries") {
  ward w;
  w.slots.set_service(slot_id{0}, false);
  w.at(2).accepts = false;
  w.retry(model_a);
  const auto s = w.q.advance(w.slots);
  CHECK(s.taken == slot_ids({1}));
  CHECK(s.granted->second == slot_id{1});
  w.q.end_run();
  CHECK(w.q.advance(w.slots).put_back == slot_ids({1}));
}

TEST_CASE("quarantine: a node with an unanswered grant is not given back") {
  ward w;
  w.run(2);
  w.at(0).promised = true;
  w.run(2);
  w.retry(model_a);
  CHECK(w.q.advance(w.slots).taken == slot_ids({0, 1}));
  w.q.withdraw(model_a);
  CHECK(does_nothing(w.q.advance(w.slots)));  // a withdrawn retry, and a promise
  w.at(0).promised = false;
  CHECK(w.q.advance(w.slots).put_back.size() == 2);
}

TEST_CASE("quarantine: a model has one retry, the latest") {
  ward w;
  w.run(0);
  w.run(2);
  w.retry(model_a);
  w.retry(model_b);
  w.retry(model_a);
  CHECK_FALSE(w.q.advance(w.slots).granted);
  w.at(0).orders.clear();
  CHECK(w.q.advance(w.slots).granted->first.model == model_b);
  w.q.end_run();
  CHECK(w.q.advance(w.slots).granted->first.sequence == 3);
  w.q.end_run();
  CHECK_FALSE(w.q.advance(w.slots).granted);
}

TEST_CASE("quarantine: retries go with their queue or model, the quarantine with its node") {
  ward w;
  SUBCASE("the queue's incarnation has ended") {
    w.retry(model_a);
    w.q.forget_queues(node_id{0}, {4});
    w.q.forget_queues(node_id{0}, {5});
    CHECK(does_nothing(w.q.advance(w.slots)));
  }
  SUBCASE("the model is undeployed while it runs") {
    w.retry(model_a);
    CHECK(w.q.advance(w.slots).granted);
    w.q.remove_model(model_b);
    CHECK(w.q.runs(model_a, slot_id{0}));
    w.q.remove_model(model_a);
    CHECK(w.q.advance(w.slots).put_back.size() == 2);
  }
  SUBCASE("the node is gone") {
    w.retry(model_a);
    CHECK(w.q.advance(w.slots).granted);
    const auto worker = w.at(0).worker;
    w.q.forget_node(node_id{1}, {2});
    CHECK(w.q.holds(worker));
    w.q.forget_node(node_id{1}, {1});
    CHECK_FALSE(w.q.holds(worker));
    CHECK_FALSE(w.q.runs(model_a, slot_id{0}));
    CHECK(does_nothing(w.q.advance(w.slots)));
  }
  SUBCASE("all of it") {
    w.retry(model_a);
    CHECK(w.q.advance(w.slots).granted);
    w.retry(model_b);
    w.q.clear();
    CHECK(does_nothing(w.q.advance(w.slots)));
  }
}
