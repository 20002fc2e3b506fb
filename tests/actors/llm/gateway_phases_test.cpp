// A gateway whose requests are prefilled by one engine and decoded by another.
#include "tests/actors/llm/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct phases_gateway_stage : llm_gateway_stage {
  phases_gateway_stage() {
    deliver(node_up{other_node, {13}});
    ask(1);
    place_both(1, first_engine, second_engine);
    began = out.one<generate>().requests.at(0);
  }
  void place_both(uint64_t id, engine_id to, engine_id decode_at) {
    for (const auto& r : out.take<route>())
      for (const auto& asked : r.requests) versions[asked.id.value] = asked.version;
    deliver(placements{{}, {{request_id{id}, versions[id], to, route_reason::placed, decode_at}}},
            the_router);
  }
  handed_over prefilled(uint32_t attempt = 1) {
    handed_over h{request_id{1}, attempt, {}};
    h.kv.lease.generation = 9;
    return h;
  }
  generation began;
};

}  // namespace

TEST_CASE("disaggregated gateway: a request goes on at the other engine once it is prefilled") {
  phases_gateway_stage g;
  CHECK(g.began.prefill_only);
  g.get(1, 5);
  CHECK(g.out.take<hand_over>().empty());  // its engine stops it without an order
  g.deliver(g.prefilled(), the_engine);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first.node == other_node);
  const auto& next = sent[0].second.requests.at(0);
  CHECK_FALSE(next.prefill_only);
  CHECK(next.attempt == 2);
  CHECK(next.kv == g.prefilled().kv);
  CHECK(next.progress.at(0).tokens == std::vector<llm::token>{5});
  const auto told = g.out.one<route>().requests.at(0);
  CHECK(told.at == second_engine);
  CHECK(told.decode_at == no_engine);
  g.get(1, 6, finish_reason::stop, 0, 2);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("disaggregated gateway: a request that ends with its first token is not handed over") {
  phases_gateway_stage g;
  g.get(1, 5, finish_reason::stop);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.deliver(g.prefilled(), the_engine);
  CHECK(g.out.one<release_kv>().lease == g.prefilled().kv.lease);
  CHECK(g.out.take<generate>().empty());
  g.check_clean();
}

TEST_CASE("disaggregated gateway: the router is asked again if the other engine is down by then") {
  phases_gateway_stage g;
  g.get(1, 5);
  g.deliver(node_down{other_node, {13}});
  CHECK(g.out.take<generate>().empty());
  g.deliver(g.prefilled(), the_engine);
  CHECK(g.out.one<release_kv>().lease == g.prefilled().kv.lease);
  g.now += 1s;
  g.deliver(device_ready{});
  const auto asked = g.out.one<route>().requests.at(0);
  CHECK(asked.at == no_engine);
  CHECK(asked.decode_at == no_engine);
  CHECK(asked.started);
  g.versions[1] = asked.version;
  g.place(1, first_engine);
  CHECK_FALSE(g.out.one<generate>().requests.at(0).prefill_only);  // it takes the whole request
}

TEST_CASE("disaggregated gateway: the router may choose other engines meanwhile") {
  phases_gateway_stage g;
  SUBCASE("to decode: nothing is sent") {
    g.place_both(1, first_engine, first_engine);
    CHECK(g.out.take<hand_over>().empty());
    CHECK(g.out.take<generate>().empty());
  }
  SUBCASE("to prefill: it is handed over, and stops there after one token") {
    g.place_both(1, second_engine, first_engine);
    CHECK(g.out.one<hand_over>().attempt == 1);
    g.deliver(g.prefilled(), the_engine);
    const auto again = g.out.one<generate>().requests.at(0);
    CHECK(again.attempt == 2);
    CHECK(again.prefill_only);
  }
  SUBCASE("the whole request") {
    g.place(1, second_engine);
    g.deliver(g.prefilled(), the_engine);
    CHECK_FALSE(g.out.one<generate>().requests.at(0).prefill_only);
  }
}

TEST_CASE(
    "disaggregated gateway: a new router learns both engines, and both nodes stay while it needs them") {
  phases_gateway_stage g;
  std::vector<node_id> needed;
  g.actor.busy_with(needed);
  CHECK(needed == std::vector{worker_node, other_node});
  g.deliver(node_down{scheduler_node, {10}});
  g.deliver(node_up{scheduler_node, {15}});
  const auto told = g.out.take<route>().back().requests.at(0);
  CHECK(told.at == first_engine);
  CHECK(told.decode_at == second_engine);
  g.deliver(client_gone{request_id{1}});
  needed.clear();
  g.actor.busy_with(needed);
  CHECK(needed.empty());
  g.check_clean();
}
