#include "actors/llm/engine.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm engine: it accepts nothing before its model is loaded, and reports the load") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  CHECK_FALSE(e.out.one<engine_status>().ready);
  CHECK(e.out.one<adapters_known>().present.size() == 3);
  e.ask(e.request(1));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::no_capacity);
  CHECK(e.state().layers == 0);
  llm::engine_event some;
  some.what = llm::engine_event::kind::layers_ready;
  some.facts = scripted_engine_device::facts(64);
  some.facts.layers_ready = 2;
  e.device.deliver(some);
  e.wake();
  CHECK(e.state().layers == 3);
  CHECK(e.state().layers_ready == 2);
  CHECK(e.state().state == "loading");
  e.ask(e.request(1));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::no_capacity);
  e.load();
  e.run_until(e.now + 1s);
  const auto s = e.out.one<engine_status>();
  CHECK(s.ready);
  CHECK(s.max_positions == 100);
  CHECK(s.kv_tokens == 256);
}

TEST_CASE("llm engine: a failed load of the model is reported, and every request fails with its reason") {
  std::string problem;
  auto o = engine_stage::options();
  o.on_unusable = [&](const std::string& why, bool) { problem = why; };
  engine_stage e(o);
  llm::engine_event bad;
  bad.what = llm::engine_event::kind::unusable;
  bad.problem = "x.safetensors: is cut off";
  e.device.deliver(bad);
  e.wake();
  CHECK(problem == "m: x.safetensors: is cut off");
  e.ask(e.request(1));
  CHECK(e.out.one<completion>().results.front().detail == "x.safetensors: is cut off");
}

TEST_CASE("llm engine: it sends the tokens of a step at once, and the last one with its finish reason") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  for (int i = 0; i < 3; ++i) e.step();
  const auto tokens = e.tokens();
  REQUIRE(tokens.size() == 3);
  CHECK(tokens[0].which == 7);   // token 6 at position 1
  CHECK(tokens[1].which == 9);   // 7 at 2
  CHECK(tokens[2].which == 12);  // 9 at 3
  CHECK(tokens[1].finish == finish_reason::none);
  CHECK(tokens[2].finish == finish_reason::length);
  CHECK_FALSE(e.device.running);
  CHECK(e.state().running == 0);
  CHECK(e.state().generated_tokens == 3);
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: each choice of a request is a sequence, and is ended alone") {
  engine_stage e;
  e.load();
  auto g = e.request(1, "", 4);
  g.choices = 2;
  e.ask(g);
  e.step();  // both prompts
  e.step();
  e.deliver(end_choice{{1}, 0}, the_llm_gateway);
  e.tokens();
  e.step();
  for (const auto& t : e.tokens()) CHECK(t.choice == 1);
  CHECK(e.actor.unfinished() == 1);
  e.deliver(end_choice{{1}, 1}, the_llm_gateway);
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: cancelled requests, and those of a dead gateway, end after the step") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  e.load();
  e.ask(e.request(1, "", 50));
  e.ask(e.request(2, "", 50));
  e.step();
  e.deliver(cancel{{1}}, the_llm_gateway);
  CHECK(e.actor.unfinished() == 1);
  e.step();
  e.tokens();
  e.step();
  for (const auto& t : e.tokens()) CHECK(t.id == request_id{2});
  e.deliver(node_down{gateway_node, {10}});  // an earlier incarnation
  CHECK(e.actor.unfinished() == 1);
  e.deliver(node_down{gateway_node, {11}});
  CHECK(e.actor.unfinished() == 0);
  e.step();
  CHECK(e.state().kv_blocks_free == 64);
  CHECK_FALSE(e.device.running);
}

TEST_CASE("llm engine: a failed step fails its own sequences, and no others") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  e.ask(e.request(2, "", 1));
  e.device.fail_step("out of memory");
  e.wake();
  CHECK(e.out.one<completion>().results.front().detail == "out of memory");
  e.step();
  CHECK(e.tokens().front().id == request_id{2});
  CHECK(e.state().kv_blocks_free == 64);
}

TEST_CASE("llm engine: a lost device ends the process, so that its sequences continue elsewhere") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  llm::engine_event lost;
  lost.what = llm::engine_event::kind::lost;
  lost.problem = "an illegal address";
  e.device.deliver(lost);
  CHECK_THROWS_WITH(e.wake(), doctest::Contains("its device is lost: an illegal address"));
}

TEST_CASE("llm engine: a device is lost if a step exceeds the longest step") {
  engine_stage e;
  e.device.longest_step = 120s;
  e.load();
  e.now += 1h;  // nothing runs
  e.wake();
  e.ask(e.request(1));
  e.now += 119s;
  e.step();  // the next one begins
  e.run_until(e.now + 119s);
  e.device.end_step();
  e.now += 2s;
  e.actor.on_time(e.now);  // it ended in time, and the event is pending
  CHECK(e.device.steps == 3);
  CHECK_THROWS_WITH(e.run_until(e.now + 121s), doctest::Contains("lost: a step has not ended within 120"));
}

TEST_CASE("llm engine: its queue is bounded, and takes all choices of a request or none") {
  engine_stage e;
  e.load();
  for (uint64_t id = 1; id <= 9; ++id) e.ask(e.request(id, "", 50));  // one runs, eight wait
  CHECK(e.out.take<drops>().empty());
  auto g = e.request(10);
  e.ask(g);
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::queue_full);
  e.step();  // three of them begin to run
  g.id = request_id{11};
  g.choices = 4;
  e.ask(g);
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::queue_full);
  CHECK(e.actor.unfinished() == 9);
}

TEST_CASE("llm engine: a request that does not fit fails with the numbers") {
  engine_stage e;
  e.load();
  e.ask(e.request(1, "", 200));
  CHECK(e.out.one<completion>().results.front().detail.find("100 positions") != std::string::npos);
  auto g = e.request(2);
  g.prompt = {5, 1000};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().detail.find("vocabulary") != std::string::npos);
}

TEST_CASE("llm engine: while it drains it finishes its requests and refuses new ones") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  e.deliver(drain{});
  e.ask(e.request(2));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::draining);
  for (int i = 0; i < 3; ++i) e.step();
  CHECK(e.tokens().back().finish == finish_reason::length);
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: a migrated sequence continues with the same tokens") {
  engine_stage whole, rest;
  whole.load();
  rest.load();
  whole.ask(whole.request(1, "", 5));
  for (int i = 0; i < 5; ++i) whole.step();
  const auto all = whole.tokens();
  REQUIRE(all.size() == 5);
  auto g = rest.request(1, "", 5);
  g.attempt = 2;
  g.progress = {{0, {all[0].which, all[1].which}}};
  rest.ask(g);
  for (int i = 0; i < 3; ++i) rest.step();
  const auto later = rest.tokens();
  REQUIRE(later.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(later[i].which == all[i + 2].which);
    CHECK(later[i].attempt == 2);
  }
  CHECK(later[2].finish == finish_reason::length);
  CHECK(rest.actor.unfinished() == 0);
}

TEST_CASE("llm engine: only unfinished choices of a migrated request continue") {
  engine_stage e;
  e.load();
  auto g = e.request(1, "", 5);
  g.choices = 3;
  g.progress = {{2, {7}}};
  e.ask(g);
  for (int i = 0; i < 4; ++i) e.step();
  for (const auto& t : e.tokens()) CHECK(t.choice == 2);
  CHECK(e.actor.unfinished() == 0);
  g.progress = {{2, {7}}, {2, {7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
  g.progress = {{3, {7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
  g.progress = {{2, {7, 7, 7, 7, 7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
}

TEST_CASE("llm engine: a deferred prompt starts at its time, without any other event") {
  auto o = engine_stage::options();
  o.prefill = "deferred";
  engine_stage e(o);
  e.load();
  e.ask(e.request(1));  // nothing is known of its steps, and it has no target
  REQUIRE(e.device.running);
  for (int i = 0; i < 3; ++i) e.step(10ms);
  CHECK(e.actor.unfinished() == 0);
  auto g = e.request(2);
  g.due = e.now + 100ms;
  e.ask(g);
  CHECK_FALSE(e.device.running);
  const auto begins = e.now + 100ms - 12ms;  // a step, and a fifth of one to spare
  e.run_until(begins - 1ns);
  CHECK_FALSE(e.device.running);
  e.run_until(begins);
  CHECK(e.device.running);
}
