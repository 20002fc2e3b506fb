#include "policies/matchmaking/slot_handover.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr node_id left_node{1}, right_node{2};
constexpr address new_arbiter{node_id{9}, {90}, role::rank_arbiter, 0};
constexpr leadership own_term{{5}, new_arbiter.node, new_arbiter.incarnation};
constexpr model_id running_model{3};

address worker_with(uint32_t slot, node_id node = left_node, uint64_t incarnation = 1) {
  return {node, {incarnation}, role::gpu_worker, slot};
}

handover handover_of(const address& worker, uint64_t batch = 0, term_id term = own_term.term) {
  handover h{slot_id{worker.index}, worker, term, {batch}, running_model, {}};
  if (batch > 0) h.requests.resize(2);
  for (auto& r : h.requests) r.rows = 3;
  return h;
}

/// Slots 0 and 1 on the left node, slot 2 on the right one.
slot_handover elected_handover(bool hasty = false) {
  slot_handover h(
      {true, {{slot_id{0}, left_node}, {slot_id{1}, left_node}, {slot_id{2}, right_node}}, hasty});
  h.on_node_up(left_node, {1});
  return h;
}

void begin_term_of(slot_handover& h, const leadership& l = own_term) {
  CHECK(h.follow(l));
  h.begin_term();
}

}  // namespace

TEST_CASE("slot_handover: without standbys every slot takes orders always, and leaders do not matter") {
  slot_handover h({});
  CHECK(h.open());
  CHECK(h.accepts(slot_id{0}, worker_with(0)));
  CHECK_FALSE(h.follow(own_term));
  h.begin_term();
  CHECK(h.open());
  CHECK_FALSE(h.open_if_known(new_arbiter));
  CHECK_FALSE(h.on_handover(handover_of(worker_with(0)), new_arbiter));
}

TEST_CASE("slot_handover: a leader opens when all slots of living workers have handed over") {
  auto h = elected_handover();
  CHECK_FALSE(h.open_if_known(new_arbiter));  // no leader yet
  begin_term_of(h);
  CHECK(h.leads(new_arbiter));
  CHECK(h.on_handover(handover_of(worker_with(0)), new_arbiter));
  CHECK_FALSE(h.open_if_known(new_arbiter));
  CHECK_FALSE(h.accepts(slot_id{0}, worker_with(0)));  // not before it is open
  SUBCASE("the last one") {
    CHECK(h.on_handover(handover_of(worker_with(1)), new_arbiter));
    CHECK(h.open_if_known(new_arbiter));
    CHECK(h.accepts(slot_id{0}, worker_with(0)));
    CHECK_FALSE(h.open_if_known(new_arbiter));  // it is open already
  }
  SUBCASE("a worker that is gone has none") {
    h.on_node_down(left_node, {1});
    CHECK(h.open_if_known(new_arbiter));
    CHECK_FALSE(h.accepts(slot_id{0}, worker_with(0)));
  }
  SUBCASE("the end of another incarnation is none of it") {
    h.on_node_down(left_node, {2});
    CHECK_FALSE(h.open_if_known(new_arbiter));
  }
  SUBCASE("not before the handover of a node that is up with slots that are not ready") {
    h.on_node_up(right_node, {7});
    CHECK(h.on_handover(handover_of(worker_with(1)), new_arbiter));
    CHECK_FALSE(h.open_if_known(new_arbiter));
    CHECK(h.on_handover(handover_of(worker_with(2, right_node, 7)), new_arbiter));
    CHECK(h.open_if_known(new_arbiter));
  }
}

TEST_CASE("slot_handover: a handover of another incarnation is not that of the worker") {
  auto h = elected_handover();
  begin_term_of(h);
  h.on_slot_ready(slot_id{1}, worker_with(1, left_node, 2));
  CHECK(h.on_handover(handover_of(worker_with(0)), new_arbiter));
  CHECK(h.on_handover(handover_of(worker_with(1)), new_arbiter));
  CHECK_FALSE(h.open_if_known(new_arbiter));
  CHECK(h.on_handover(handover_of(worker_with(1, left_node, 2)), new_arbiter));
  CHECK(h.open_if_known(new_arbiter));
  CHECK(h.accepts(slot_id{1}, worker_with(1, left_node, 2)));
  CHECK_FALSE(h.accepts(slot_id{1}, worker_with(1)));
}

TEST_CASE("slot_handover: only the first handover of a term to its leader counts") {
  auto h = elected_handover();
  CHECK_FALSE(h.on_handover(handover_of(worker_with(0)), new_arbiter));  // no leader
  begin_term_of(h);
  CHECK_FALSE(h.on_handover(handover_of(worker_with(0), 0, {4}), new_arbiter));
  CHECK_FALSE(h.on_handover(handover_of(worker_with(0)),
                            {new_arbiter.node, {91}, new_arbiter.kind, new_arbiter.index}));
  CHECK(h.on_handover(handover_of(worker_with(0), 8), new_arbiter));
  CHECK_FALSE(h.on_handover(handover_of(worker_with(0), 9), new_arbiter));
  CHECK(h.still_runs(slot_id{0}, worker_with(0))->batch == batch_id{8});
}

TEST_CASE("slot_handover: a later leader begins a term in which nothing was handed over") {
  auto h = elected_handover();
  begin_term_of(h);
  CHECK(h.on_handover(handover_of(worker_with(0)), new_arbiter));
  CHECK(h.on_handover(handover_of(worker_with(1)), new_arbiter));
  CHECK(h.open_if_known(new_arbiter));
  CHECK_FALSE(h.follow({{4}, right_node, {7}}));  // an earlier one
  CHECK_FALSE(h.follow(own_term));
  SUBCASE("another node's: it is deposed") {
    begin_term_of(h, {{6}, right_node, {7}});
    CHECK_FALSE(h.leads(new_arbiter));
    CHECK_FALSE(h.open_if_known(new_arbiter));
  }
  SUBCASE("its own") {
    begin_term_of(h, {{6}, new_arbiter.node, new_arbiter.incarnation});
    CHECK_FALSE(h.open_if_known(new_arbiter));
  }
  CHECK(h.has_leader());
  CHECK_FALSE(h.open());
  CHECK_FALSE(h.accepts(slot_id{0}, worker_with(0)));
}

TEST_CASE(
    "slot_handover: a batch of an earlier term occupies its slot without a known end until it is done") {
  auto h = elected_handover();
  begin_term_of(h);
  CHECK(h.on_handover(handover_of(worker_with(0), 8), new_arbiter));
  const auto order = h.still_runs(slot_id{0}, worker_with(0));
  REQUIRE(order);
  CHECK(order->batch == batch_id{8});
  CHECK(order->model == running_model);
  CHECK(order->rows == 6);
  CHECK(order->free_at == never);
  CHECK_FALSE(h.still_runs(slot_id{0}, worker_with(0, left_node, 2)));
  CHECK_FALSE(h.still_runs(slot_id{1}, worker_with(1)));
  batch_done d;
  d.slot = slot_id{0};
  d.batch = {7};
  h.on_done(d);
  CHECK(h.still_runs(slot_id{0}, worker_with(0)));
  d.batch = {8};
  h.on_done(d);
  CHECK_FALSE(h.still_runs(slot_id{0}, worker_with(0)));
}

TEST_CASE("slot_handover: a leader without workers is open at once") {
  auto h = elected_handover();
  h.forget_workers();
  begin_term_of(h);
  CHECK(h.open_if_known(new_arbiter));
}

TEST_CASE("slot_handover: a hasty leader waits for no handover") {
  auto h = elected_handover(true);
  CHECK_FALSE(h.open_if_known(new_arbiter));
  begin_term_of(h);
  CHECK(h.open_if_known(new_arbiter));
  CHECK(h.accepts(slot_id{0}, worker_with(0)));
}
