// Routing of requests by a gateway, and its reaction to changes of engines and routers.
#include "actors/llm/gateway.hpp"

#include "tests/actors/llm/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm gateway: the death of the last engine fails the requests, and keeps its adapters known") {
  llm_gateway_stage g;
  engine_status s;
  s.ready = true;
  g.deliver(s, the_engine);
  g.deliver(adapters_known{{}, {}, true, {{"a", "/a"}}, {}}, the_engine);
  CHECK(g.catalog->find("m")->up);
  CHECK(g.catalog->find("a")->adapter == "a");
  g.send_to_engine(1);
  g.ask(9);
  g.deliver(change_adapter{5, {}, true, {"b", "/b"}});
  CHECK(g.out.one<change_adapter>().adapter.name == "b");
  g.deliver(node_down{worker_node, {12}});
  CHECK(g.outcomes.at(1).error == failure::worker_lost);
  CHECK(g.outcomes.at(9).error == failure::worker_lost);
  REQUIRE(g.changes.size() == 1);
  CHECK(g.changes[0].answer == adapter_answer::refused);
  CHECK_FALSE(g.catalog->find("m")->up);
  CHECK_FALSE(g.catalog->find("a")->up);  // 503, not 404: it may be back in a moment
  CHECK(g.catalog->every_model_was_served());
  g.ask(2);
  CHECK(g.outcomes.at(2).reason == drop_reason::no_capacity);
  g.deliver(change_adapter{6, {}, true, {"b", "/b"}});
  CHECK(g.changes.size() == 2);
  g.check_clean();
}

TEST_CASE("llm gateway: requests with more tokens than a frame holds go to an engine in several messages") {
  llm_gateway_stage g;
  std::vector<generation> three(3);
  for (uint64_t i = 0; i < 3; ++i) {
    three[i].id = request_id{i + 1};
    three[i].prompt.resize(400'000, 1);
    three[i].max_tokens = 1;
    three[i].deadline = g.now + 10s;
  }
  g.deliver(generation_request{three});
  placements all;
  for (const auto& asked : g.out.one<route>().requests)
    all.requests.push_back({asked.id, asked.version, first_engine, route_reason::placed});
  g.deliver(all, the_router);
  const auto sent = g.out.take<generate>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].requests.size() == 2);
  CHECK(sent[1].requests[0].id == request_id{3});
  for (uint64_t id = 1; id <= 3; ++id) g.get(id, 1, finish_reason::length);
  g.check_clean();
}

TEST_CASE("llm gateway: a request is handed over, and continues from its client's tokens, with the offer") {
  llm_gateway_stage g;
  g.deliver(node_up{other_node, {13}});
  g.send_to_engine(1);
  CHECK(g.out.one<generate>().requests[0].progress.empty());
  g.get(1, 5);
  g.place(1, second_engine, route_reason::consolidated);
  CHECK(g.out.take<cancel>().empty());
  CHECK(g.out.take<generate>().empty());
  const auto asked = g.out.take_addressed<hand_over>();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].first.node == worker_node);
  CHECK(asked[0].second == hand_over{request_id{1}, 1});
  g.get(1, 6);  // the last token of the first engine
  CHECK(g.tokens.size() == 2);
  kv_offer kv;
  kv.lease.generation = 9;
  g.deliver(handed_over{request_id{1}, 1, kv}, the_engine);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{other_node, {}, role::llm_engine, 1});
  const auto& continued = sent[0].second.requests[0];
  CHECK(continued.attempt == 2);
  CHECK(continued.kv == kv);
  REQUIRE(continued.progress.size() == 1);
  CHECK(continued.progress[0].tokens == std::vector<llm::token>{5, 6});
  g.get(1, 7);  // of the first engine, which may not send it
  CHECK(g.tokens.size() == 2);
  g.deliver(drops{{{{1}, 1, drop_reason::draining}}}, the_engine);
  g.get(1, 7, finish_reason::none, 0, 2);
  g.get(1, 8, finish_reason::stop, 0, 2);
  CHECK(g.tokens.size() == 4);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("llm gateway: whatever happens during a hand-over, the request has one engine at most") {
  kv_offer kv;
  kv.lease.generation = 9;
  const handed_over answer{request_id{1}, 1, kv};
  const auto leaving = [](llm_gateway_stage& g) {
    g.deliver(node_up{other_node, {13}});
    g.send_to_engine(1);
    g.get(1, 5);
    g.place(1, second_engine, route_reason::asked);
    g.out.forget();
  };
  const auto gives_offer_up = [&](llm_gateway_stage& g) {
    CHECK(g.out.take<generate>().empty());
    CHECK(g.out.one<release_kv>() == release_kv{kv.engine, kv.lease});
  };
  const auto asks_router = [](llm_gateway_stage& g) {
    g.now += 1s;
    g.deliver(device_ready{});
    CHECK(g.out.one<route>().requests.at(0).at == no_engine);
  };
  SUBCASE("the next engine is lost: the router is asked again, and the offer given up") {
    llm_gateway_stage g;
    leaving(g);
    g.deliver(node_down{other_node, {13}});
    g.deliver(answer, the_engine);
    gives_offer_up(g);
    asks_router(g);
  }
  SUBCASE("the former engine is lost: the tokens are here") {
    llm_gateway_stage g;
    leaving(g);
    g.deliver(node_down{worker_node, {12}});
    g.place(1, second_engine);
    const auto again = g.out.one<generate>().requests.at(0);
    CHECK_FALSE(again.kv.lease);
    CHECK(again.progress.at(0).tokens == std::vector<llm::token>{5});
  }
  SUBCASE("the request ends first: the offer is given up") {
    llm_gateway_stage g;
    leaving(g);
    g.get(1, 6, finish_reason::stop);
    g.deliver(answer, the_engine);
    gives_offer_up(g);
    g.check_clean();
  }
  SUBCASE("the engine drops it first: the router is asked") {
    llm_gateway_stage g;
    leaving(g);
    g.deliver(drops{{{{1}, 1, drop_reason::draining}}}, the_engine);
    g.deliver(answer, the_engine);
    gives_offer_up(g);
    asks_router(g);
  }
  SUBCASE("the router decides again before the next engine has the request: the offer goes with it") {
    llm_gateway_stage g;
    leaving(g);
    g.note(answer, the_engine);
    g.place(1, first_engine, route_reason::asked);
    const auto sent = g.out.take_addressed<generate>();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].first.node == worker_node);
    CHECK(sent[0].second.requests.at(0).kv == kv);
  }
  SUBCASE("the router decides again: the engine is asked once, and the last decision counts") {
    llm_gateway_stage g;
    leaving(g);
    const auto busy = [&] {
      std::vector<node_id> out;
      g.actor.busy_with(out);
      return out;
    };
    CHECK(busy() == std::vector{worker_node, other_node});  // it is on its way there
    g.place(1, first_engine, route_reason::asked);
    CHECK(g.out.take<hand_over>().empty());
    CHECK(busy() == std::vector{worker_node});
    g.deliver(answer, the_engine);
    CHECK(g.out.take_addressed<generate>().at(0).first.node == worker_node);
  }
}

TEST_CASE("llm gateway: requests of a dead engine go to another, up to a number of deaths") {
  llm_gateway_stage g;
  g.deliver(node_up{other_node, {13}});
  g.send_to_engine(1);
  g.get(1, 5);
  const auto stale = g.versions[1];
  uint64_t incarnation = 12;
  for (int death = 0; death < 3; ++death) {
    g.deliver(node_down{worker_node, {incarnation}});
    const auto asked = g.out.one<route>().requests.at(0);
    CHECK(asked.started);
    CHECK(asked.tokens == 3);
    CHECK(asked.at == no_engine);
    g.deliver(placements{{}, {{request_id{1}, stale, second_engine, route_reason::preempted}}}, the_router);
    g.out.forget();
    g.versions[1] = asked.version;
    g.deliver(node_up{worker_node, {++incarnation}});
    g.place(1, first_engine);
    CHECK(g.out.one<generate>().requests[0].progress[0].tokens == std::vector<llm::token>{5});
  }
  g.deliver(node_down{worker_node, {incarnation}});
  CHECK(g.outcomes.at(1).error == failure::worker_lost);
  g.check_clean();
}

TEST_CASE("llm gateway: a late token of a dead engine may still finish the request") {
  llm_gateway_stage g;
  g.deliver(node_up{other_node, {13}});
  g.enough = 9;
  g.send_to_engine(1);
  g.get(1, 5);
  g.deliver(node_down{worker_node, {12}});
  g.get(1, 9);
  CHECK(g.out.take<end_choice>().empty());
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("llm gateway: a request placed on a dead engine is sent to the router again after a delay") {
  llm_gateway_stage g;
  g.ask(1);
  g.place(1, second_engine);  // not up, as the gateway sees it
  CHECK(g.out.take<generate>().empty());
  CHECK(g.out.take<route>().empty());
  g.run_until(g.now + 1s);
  const auto again = g.out.one<route>().requests.at(0);
  CHECK(again.at == no_engine);
  g.versions[1] = again.version;
  g.place(1, first_engine);
  CHECK(g.out.take<generate>().size() == 1);
  g.deliver(drops{{{{1}, 1, drop_reason::draining}}},
            the_engine);  // it leaves, and the router does not know yet
  g.run_until(g.now + 1s);
  CHECK(g.out.one<route>().requests.at(0).at == no_engine);
  g.deliver(client_gone{{1}});
  g.check_clean();
}

TEST_CASE("llm gateway: a new router gets all requests, and placements of an earlier one are void") {
  llm_gateway_stage g;
  g.send_to_engine(1);
  g.ask(2);
  g.out.forget();
  const auto before = g.versions;
  g.deliver(node_down{scheduler_node, {10}});
  g.get(1, 5);
  CHECK(g.tokens.size() == 1);  // goes on without a router
  g.ask(3);
  CHECK(g.outcomes.at(3).reason == drop_reason::no_capacity);
  g.deliver(node_up{scheduler_node, {14}});
  const auto sent = g.out.one<route>();
  CHECK(sent.all);
  REQUIRE(sent.requests.size() == 2);
  CHECK(sent.requests[0].at == first_engine);
  CHECK(sent.requests[1].at == no_engine);
  g.deliver(placements{{}, {{request_id{2}, before.at(1), first_engine, route_reason::placed}}}, the_router);
  CHECK(g.out.take<generate>().empty());
  g.deliver(client_gone{{1}});
  g.deliver(client_gone{{2}});
  g.check_clean();
}
