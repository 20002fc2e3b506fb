#include "policies/matchmaking/slot_table.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"
#include "tests/policies/matchmaking/recording_matchmaking.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr model_id loaded{1};

address worker_at(uint32_t node, uint64_t incarnation = 1) {
  return {node_id{node}, {incarnation}, role::gpu_worker, 0};
}

batch_done batch_end(uint64_t batch, time_point start, time_point end, refusal why = refusal::none) {
  return {{batch}, loaded, slot_id{0}, why, 1, start, end, {}};
}

}  // namespace

TEST_CASE("slot_table: a slot is free now, at the end of its batch, or never with two batches") {
  slot_record s;
  CHECK(s.free_at(ms(3)) == ms(3));
  CHECK(s.rows() == 0);
  CHECK(s.idle());
  s.orders.push_back({{1}, loaded, ms(10), 4});
  CHECK(s.free_at(ms(3)) == ms(10));
  CHECK(s.rows() == 4);
  CHECK_FALSE(s.idle());
  s.orders.push_back({{2}, loaded, ms(20), 5});
  CHECK(s.free_at(ms(3)) == never);
  CHECK(s.rows() == 5);
}

TEST_CASE("slot_table: a promised slot is not idle") {
  slot_record s;
  s.promised = true;
  CHECK_FALSE(s.idle());
}

TEST_CASE("slot_table: a batch that was late delays the batch behind it by as much, an early one does not") {
  slot_record s;
  s.orders = {{{1}, loaded, ms(10)}, {{2}, loaded, ms(20)}};
  SUBCASE("late") {
    CHECK(s.finish(batch_end(1, ms(0), ms(13))));
    CHECK(s.free_at(ms(13)) == ms(23));
    CHECK(s.busy == 13ms);
  }
  SUBCASE("early") {
    CHECK(s.finish(batch_end(1, ms(0), ms(7))));
    CHECK(s.free_at(ms(7)) == ms(20));
    CHECK(s.busy == 7ms);
  }
  SUBCASE("preempted: its run is lost, and it delays nothing") {
    CHECK(s.finish(batch_end(1, ms(0), ms(13), refusal::preempted)));
    CHECK(s.free_at(ms(13)) == ms(20));
    CHECK(s.busy == 13ms);
  }
  SUBCASE("refused: it did not run") {
    CHECK(s.finish(batch_end(1, ms(5), ms(13), refusal::late)));
    CHECK(s.free_at(ms(13)) == ms(20));
    CHECK(s.busy == duration{});
  }
  CHECK(s.orders.size() == 1);
}

TEST_CASE("slot_table: the last batch frees its slot at its end") {
  slot_record s;
  s.orders = {{{1}, loaded, ms(10)}};
  CHECK(s.finish(batch_end(1, ms(0), ms(7))));
  CHECK(s.idle());
  CHECK(s.free_at(ms(7)) == ms(7));
}

TEST_CASE("slot_table: an order of an earlier term has no planned end to be late by") {
  slot_record s;
  s.orders = {{{1}, loaded, never}, {{2}, loaded, ms(20)}};
  CHECK(s.finish(batch_end(1, ms(0), ms(50))));
  CHECK(s.free_at(ms(50)) == ms(20));
}

TEST_CASE("slot_table: the end of an unknown order is kept for its `occupied`") {
  slot_record s;
  s.orders = {{{1}, loaded, ms(10)}};
  SUBCASE("another batch") { CHECK_FALSE(s.finish(batch_end(2, ms(0), ms(7)))); }
  SUBCASE("the same number of another model") {
    auto d = batch_end(1, ms(0), ms(7));
    d.model = model_id{2};
    CHECK_FALSE(s.finish(d));
  }
  REQUIRE(s.early);
  CHECK(s.early->finished_at == ms(7));
  CHECK(s.orders.size() == 1);
  CHECK(s.busy == duration{});
}

TEST_CASE("slot_table: slots in service are those that are up and were not taken out") {
  slot_table t;
  for (uint32_t i = 0; i < 3; ++i) t.add(slot_id{i}, worker_at(i), {loaded});
  CHECK(t.in_service() == 3);
  CHECK(t.set_service(slot_id{1}, false));
  CHECK_FALSE(t.set_service(slot_id{1}, false));
  CHECK_FALSE(t.set_service(slot_id{0}, true));
  CHECK(t.in_service() == 2);
  CHECK(t.models_in_service().size() == 2);
  CHECK_FALSE(t.models_in_service().contains(slot_id{1}));
  SUBCASE("also in the next incarnation of its worker") {
    t.remove(slot_id{1});
    CHECK(t.in_service() == 2);
    t.add(slot_id{1}, worker_at(1, 2), {});
    CHECK(t.in_service() == 2);
    t.add(slot_id{1}, worker_at(1, 3), {});  // without a removal in between
    CHECK(t.in_service() == 2);
    CHECK(t.set_service(slot_id{1}, true));
    CHECK(t.in_service() == 3);
  }
  SUBCASE("also after all slots have gone") {
    t.clear();
    CHECK(t.in_service() == 0);
    CHECK(t.is_out(slot_id{1}));
    CHECK(t.set_service(slot_id{1}, true));
    CHECK(t.in_service() == 0);
  }
  SUBCASE("a slot that is not up may be taken out, too") {
    CHECK(t.set_service(slot_id{9}, false));
    CHECK(t.in_service() == 2);
    t.add(slot_id{9}, worker_at(9), {});
    CHECK(t.in_service() == 2);
  }
  SUBCASE("one that goes twice counts once") {
    t.remove(slot_id{0});
    t.remove(slot_id{0});
    CHECK(t.in_service() == 1);
  }
}

TEST_CASE("slot_table: the slots of a node are those of the incarnation") {
  slot_table t;
  t.add(slot_id{0}, worker_at(1), {});
  t.add(slot_id{1}, worker_at(1, 2), {});
  t.add(slot_id{2}, worker_at(2), {});
  CHECK(t.of(node_id{1}, {1}) == std::vector{slot_id{0}});
  CHECK(t.of(node_id{3}, {1}).empty());
  CHECK(t.sorted() == std::vector{slot_id{0}, slot_id{1}, slot_id{2}});
  CHECK(t.find(slot_id{3}) == nullptr);
}

TEST_CASE("slot_table: a new term voids orders, promises and acceptance, not busy time") {
  slot_table t;
  auto& s = t.add(slot_id{0}, worker_at(1), {loaded});
  s.orders.push_back({{1}, loaded, ms(10)});
  s.promised = s.accepts = true;
  s.early = batch_end(2, ms(0), ms(1));
  s.busy = 5ms;
  t.begin_term();
  CHECK(s.idle());
  CHECK_FALSE(s.accepts);
  CHECK_FALSE(s.early);
  CHECK(s.busy == 5ms);
  CHECK(s.has(loaded));
}

TEST_CASE(
    "slot_table: a slot is offered with its models, its rows and its end, a promised one without an end") {
  slot_table t;
  recording_matchmaking policy;
  auto& s = t.add(slot_id{0}, worker_at(1), {loaded});
  s.orders.push_back({{1}, loaded, ms(10), 6});
  t.offer(slot_id{0}, policy, ms(2));
  CHECK(policy.slots[slot_id{0}].free_at == ms(10));
  CHECK(policy.slots[slot_id{0}].models == std::vector{loaded});
  CHECK(policy.slots[slot_id{0}].rows == 6);
  s.promised = true;
  t.offer(slot_id{0}, policy, ms(2));
  CHECK(policy.slots[slot_id{0}].free_at == never);
}
