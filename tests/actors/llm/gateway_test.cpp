#include "actors/llm/gateway.hpp"

#include "tests/actors/llm/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE(
    "llm gateway: it sends a request to the engine of its placement, and passes tokens on until the last") {
  llm_gateway_stage g;
  g.ask(1);
  const auto asked = g.out.one<route>();
  REQUIRE(asked.requests.size() == 1);
  CHECK(asked.requests[0].tokens == 2);
  CHECK(asked.requests[0].at == no_engine);
  CHECK(g.out.take<generate>().empty());
  g.versions[1] = asked.requests[0].version;
  g.place(1, first_engine);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{worker_node, {}, role::llm_engine, 0});
  CHECK(sent[0].second.requests[0].gateway == the_llm_gateway);
  g.get(1, 5);
  g.get(1, 6, finish_reason::stop);
  g.get(1, 7);  // late
  CHECK(g.tokens.size() == 2);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  CHECK(g.out.one<route_ends>().requests == std::vector{request_id{1}});
  g.check_clean();
}

TEST_CASE(
    "llm gateway: a choice ends when its client needs no more tokens, and the request with its last choice") {
  llm_gateway_stage g;
  g.enough = 9;
  g.send_to_engine(1, 0, 2);
  g.get(1, 9, finish_reason::none, 1);
  const auto end = g.out.one<end_choice>();
  CHECK(end.choice == 1);
  g.get(1, 4, finish_reason::none, 1);  // was under way
  CHECK(g.tokens.size() == 1);
  CHECK(g.outcomes.empty());
  g.get(1, 3, finish_reason::length, 0);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE(
    "llm gateway: it refuses requests beyond its bound or the tenant's quota, and all while it drains") {
  llm_gateway_stage g({{0, 1, 1}});
  g.send_to_engine(1, 1);
  g.ask(2, 1);
  CHECK(g.outcomes.at(2).reason == drop_reason::quota);
  CHECK(g.outcomes.at(2).detail == "concurrency");
  g.send_to_engine(3);
  g.send_to_engine(4);
  g.ask(5);
  CHECK(g.outcomes.at(5).reason == drop_reason::queue_full);
  g.get(1, 1, finish_reason::stop);
  g.send_to_engine(6, 1);
  CHECK_FALSE(g.outcomes.contains(6));
  g.deliver(drain{});
  g.ask(7);
  CHECK(g.outcomes.at(7).reason == drop_reason::draining);
  for (uint64_t id : {3, 4, 6}) g.get(id, 1, finish_reason::stop);
  g.check_clean();
}

TEST_CASE("llm gateway: get_state says whether the router, and with it the scheduler's node, is up") {
  llm_gateway_stage g;
  CHECK(run_command<gateway_state>(g, get_state{}).scheduler_up);
  g.deliver(node_down{scheduler_node, {10}});
  CHECK_FALSE(run_command<gateway_state>(g, get_state{}).scheduler_up);
}

TEST_CASE("llm gateway: a request that its engine drops as late is not sent to the router again") {
  llm_gateway_stage g;
  g.send_to_engine(1);
  g.deliver(drops{{{request_id{1}, 1, drop_reason::late}}}, the_engine);
  CHECK(g.outcomes.at(1).reason == drop_reason::late);
  g.check_clean();
}

TEST_CASE("llm gateway: a disconnect and a timeout cancel the request in the engine") {
  llm_gateway_stage g;
  g.send_to_engine(1);
  g.send_to_engine(2);
  g.deliver(client_gone{{1}});
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.outcomes.at(1).reason == drop_reason::cancelled);
  g.run_until(g.now + 11s);
  CHECK(g.out.one<cancel>().id == request_id{2});
  CHECK(g.outcomes.at(2).error == failure::timeout);
  g.check_clean();
}

TEST_CASE("llm gateway: a refusal of the router and a failure of the engine are outcomes") {
  llm_gateway_stage g;
  g.ask(1);
  g.deliver(drops{{{{1}, g.out.one<route>().requests[0].version, drop_reason::queue_full}}}, the_router);
  g.send_to_engine(2);
  g.deliver(completion{{}, 0, {{{2}, 2, failure::device_error, {}, "another attempt"}}}, the_engine);
  CHECK_FALSE(g.outcomes.contains(2));
  g.deliver(completion{{}, 0, {{{2}, 1, failure::device_error, {}, "why"}}}, the_engine);
  CHECK(g.outcomes.at(1).reason == drop_reason::queue_full);
  CHECK(g.outcomes.at(2).detail == "why");
  g.check_clean();
}

TEST_CASE("llm gateway: requests go on, with their tokens, in the next incarnation of its node") {
  llm_gateway_stage g;
  g.report_ready(first_engine);
  g.send_to_engine(1);
  g.get(1, 7);
  g.deliver(change_adapter{5, {}, true, {"b", "/b"}});
  g.out.forget();
  g.deliver(new_incarnation{{13}});
  CHECK(g.changes.size() == 1);
  CHECK(g.out.silent());
  g.ask(2);  // what served its model is expected back
  CHECK_FALSE(g.outcomes.contains(2));
  g.deliver(client_gone{request_id{2}});
  g.run_until(g.now + 9s);
  g.ask(3);  // nothing came back
  CHECK(g.outcomes.at(3).reason == drop_reason::no_capacity);
  g.out.forget();
  g.deliver(node_up{scheduler_node, {10}});
  g.deliver(node_up{worker_node, {12}});
  g.place(1, first_engine);
  const auto again = g.out.one<generate>().requests.at(0);
  CHECK(again.gateway.incarnation == incarnation_id{13});
  CHECK(again.attempt == 2);
  CHECK(again.progress.at(0).tokens == std::vector<llm::token>{7});
  g.get(1, 8);  // of the former attempt
  CHECK(g.tokens.size() == 1);
  g.get(1, 8, finish_reason::stop, 0, 2);
  CHECK(g.tokens.size() == 2);
  CHECK(g.outcomes.at(1).kind == outcome_kind::finished);
  g.check_clean();
}

TEST_CASE("llm gateway: a request that arrives after its deadline is neither sent nor cancelled") {
  llm_gateway_stage g;
  generation late;
  late.id = request_id{1};
  late.prompt = {1};
  late.max_tokens = 1;
  late.arrival = g.now;
  late.deadline = g.now;
  g.deliver(generation_request{{late}});
  g.run_until(g.now + 1s);
  CHECK(g.out.take<route>().empty());
  CHECK(g.out.take<cancel>().empty());
  CHECK(g.outcomes.at(1).error == failure::timeout);
  g.check_clean();
}

TEST_CASE("llm gateway: each of several prompts is a request, and is refused alone") {
  llm_gateway_stage g;
  std::vector<generation> four(4);
  for (uint64_t i = 0; i < 4; ++i) {
    four[i].id = request_id{i + 1};
    four[i].prompt = {1};
    four[i].max_tokens = 1;
    four[i].deadline = g.now + 10s;
  }
  g.deliver(generation_request{four});
  CHECK(g.outcomes.at(4).reason == drop_reason::queue_full);
  for (uint64_t id = 1; id <= 3; ++id) {
    g.place(id, first_engine);
    g.get(id, 1, finish_reason::length);
  }
  CHECK(g.out.take<generate>().size() == 3);
  g.check_clean();
}

TEST_CASE(
    "llm gateway: its metrics have the tokens of prompts that engines with a prefix cache had and had not") {
  llm_gateway_stage g;
  const auto value = [&](std::string_view name) {
    std::vector<metric> all;
    g.actor.report(all);
    const auto found = std::ranges::find(all, name, &metric::name);
    REQUIRE(found != all.end());
    return found->value;
  };
  const auto first_token = [&](uint64_t id) {
    g.send_to_engine(id);
    g.deliver(generated{{{request_id{id}, 1, 0, 7, -1, {}, finish_reason::none, 1}}}, the_engine);
    g.get(id, 8, finish_reason::length);
  };
  first_token(1);
  CHECK(value("vllm:prefix_cache_queries_total") == 0);
  engine_status s;
  s.engine = first_engine;
  s.ready = s.prefix_cache = true;
  g.deliver(s, address{worker_node, {}, role::llm_engine, 0});
  first_token(2);
  CHECK(value("vllm:prefix_cache_queries_total") == 2);
  CHECK(value("vllm:prefix_cache_hits_total") == 1);
}

TEST_CASE("llm gateway: the value of vllm:lora_requests_info is the time of its last change") {
  llm_gateway_stage g;
  const auto value = [&] {
    std::vector<metric> all;
    g.actor.report(all);
    const auto found = std::ranges::find(all, "vllm:lora_requests_info", &metric::name);
    REQUIRE(found != all.end());
    return found->value;
  };
  CHECK(value() == 0);
  engine_status s;
  s.engine = first_engine;
  s.running_adapters = {"x"};
  g.deliver(s, address{worker_node, {}, role::llm_engine, 0});
  const auto first = to_seconds(g.now + 1000s - time_point{});
  CHECK(value() == doctest::Approx(first));
  g.now += 5s;
  g.deliver(s, address{worker_node, {}, role::llm_engine, 0});
  CHECK(value() == doctest::Approx(first));
  s.waiting_adapters = {"y"};
  g.deliver(s, address{worker_node, {}, role::llm_engine, 0});
  CHECK(value() == doctest::Approx(first + 5));
  g.now += 5s;
  g.deliver(node_down{worker_node, {12}});
  CHECK(value() == doctest::Approx(first + 10));  // they are lost with their engine
}

TEST_CASE(
    "llm gateway: its metrics have the adapters on the devices of engines, and the times of their loads") {
  llm_gateway_stage g;
  engine_status s;
  s.engine = first_engine;
  s.adapter_slots = 3;
  s.on_device = {{"x", "y"}, {0, 2, 1}, 0.01};
  g.deliver(s, address{worker_node, {}, role::llm_engine, 0});
  const auto metrics = [&](std::string_view name) {
    std::vector<metric> all;
    g.actor.report(all);
    std::erase_if(all, [&](const metric& m) {
      return m.name != name || m.labels.at(1).second != std::to_string(first_engine.value);
    });
    return all;
  };
  CHECK(metrics("vllm:max_gpu_lora_adapters").at(0).value == 3);
  CHECK(metrics("vllm:num_gpu_loaded_lora_adapters").at(0).value == 2);
  const auto loads = metrics("vllm:lora_adapter_load_seconds").at(0);
  CHECK(loads.value == 3);
  CHECK(loads.distribution->counts().at(2) == 1);
  CHECK(loads.distribution->sum() == 0.01);
  const auto loaded = metrics("vllm:lora_adapter_loaded");
  REQUIRE(loaded.size() == 2);
  CHECK(loaded[1].labels.at(2) == std::pair<std::string, std::string>{"adapter_name", "y"});
  g.deliver(node_down{worker_node, {12}});
  CHECK(metrics("vllm:lora_adapter_loaded").empty());
}
