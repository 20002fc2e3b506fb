// An arbiter when the leader changes.
#include "actors/tensor/rank_arbiter.hpp"
#include "messages/wire/json.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/leaders.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id other_worker{4};

struct elected_arbiter : stage<rank_arbiter> {
  elected_arbiter() : stage(standby_arbiter, make_matchmaking("lowest_id"), options()) {
    deliver(ready(0));
    deliver(ready(1));
    deliver(first);
  }
  static rank_arbiter::options options() {
    rank_arbiter::options o;
    o.elected = true;
    o.nodes_of_slots = {worker_node, worker_node, other_worker};
    return o;
  }
  void offer() { deliver(candidate{model_id{0}, 1, 1, now, at(100), {}}, standby_queue); }
  void hand_over(uint32_t slot, uint64_t batch = 0, term_id term = second.term) {
    handover h{slot_id{slot}, worker_of(slot), term, {batch}, model_id{0}, {}};
    if (batch > 0) h.requests.resize(1);
    deliver(std::move(h), worker_of(slot));
  }
};

}  // namespace

TEST_CASE("leadership, rank_arbiter: it grants nothing before all slots have handed over") {
  elected_arbiter a;
  a.offer();
  CHECK(a.out.take<grant>().empty());
  a.deliver(second);
  a.offer();
  a.hand_over(1, 0, first.term);  // of another term
  a.hand_over(0);
  CHECK(a.out.take<grant>().empty());
  SUBCASE("the last slot hands over") {
    a.hand_over(1);
    CHECK(a.out.one<grant>().slot == slot_id{0});
  }
  SUBCASE("the worker dies") {
    a.deliver(node_down{worker_node, {12}, true});
    CHECK(a.out.take<grant>().empty());  // so is the other slot
    a.deliver(ready(0, 20));
    handover h{slot_id{0}, worker_of(0, 20), second.term, {}, {}, {}};
    a.deliver(h, worker_of(0, 20));
    CHECK(a.out.one<grant>().worker.incarnation == incarnation_id{20});
  }
  SUBCASE("the worker leaves") {
    a.deliver(node_leaving{worker_node, {12}});
    CHECK(a.out.take<grant>().empty());
  }
}

TEST_CASE(
    "leadership, rank_arbiter: a worker that is up without ready slots blocks grants until its handover") {
  elected_arbiter a;
  a.deliver(node_up{other_worker, {40}});
  a.deliver(second);
  a.offer();
  a.hand_over(0);
  a.hand_over(1);
  CHECK(a.out.take<grant>().empty());
  SUBCASE("it hands over") {
    const address other{other_worker, {40}, role::gpu_worker, 2};
    a.deliver(handover{slot_id{2}, other, second.term, {}, {}, {}}, other);
  }
  SUBCASE("it dies") { a.deliver(node_down{other_worker, {40}, true}); }
  CHECK(a.out.one<grant>().slot == slot_id{0});
}

TEST_CASE("leadership, rank_arbiter: the end of a batch of an earlier term is not forecast") {
  elected_arbiter a;
  a.deliver(second);
  a.hand_over(0, 7);
  a.hand_over(1);
  const auto reply = a.actor.on_command({1, "get_state", {}}, a.now);
  REQUIRE(reply.ok);
  const auto state = from_json<arbiter_state>(nlohmann::json::parse(reply.body));
  REQUIRE(state.slots.size() == 2);
  CHECK(state.slots[0].orders == 1);
  CHECK(state.slots[0].free_in == duration{});
}

TEST_CASE("leadership, rank_arbiter: a slot with a batch of an earlier term is granted at its end") {
  elected_arbiter a;
  a.deliver(second);
  a.hand_over(0, 7);
  const auto passed_on = a.out.take_addressed<handover>();
  REQUIRE(passed_on.size() == 1);
  CHECK(passed_on[0].first.kind == role::model_queue);
  a.deliver(node_down{node_id{9}, {1}, true});
  a.hand_over(1, 8);
  a.offer();
  CHECK(a.out.take<grant>().empty());
  a.deliver(batch_done{{8}, model_id{0}, slot_id{1}, refusal::none, 1, a.now, a.now, {}}, worker_of(1));
  CHECK(a.out.one<grant>().slot == slot_id{1});
}

TEST_CASE("leadership, rank_arbiter: a deposed arbiter grants nothing") {
  elected_arbiter a;
  a.deliver(second);
  a.hand_over(0);
  a.hand_over(1);
  a.deliver(leadership{{300}, scheduler_node, {10}});
  a.offer();
  CHECK(a.out.take<grant>().empty());
  CHECK(a.value_of("troupe_slots") == 0);
}
