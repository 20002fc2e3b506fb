// Status of an engine, as its routers receive it.
#include "actors/llm/engine.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm engine: its status is sent at intervals, with running and waiting sequences") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  e.load();
  e.ask(e.request(1, "", 30));
  e.ask(e.request(2, "", 30));
  e.step();
  e.step();
  e.out.forget();
  e.run_until(e.now + 1s);
  const auto s = e.out.one<engine_status>();
  CHECK(s.running == 2);
  CHECK(s.waiting == 0);
  CHECK(s.kv_used > 0);
  e.deliver(cancel{{1}}, the_llm_gateway);
  e.deliver(cancel{{2}}, the_llm_gateway);
  e.step();
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().running == 0);
}

TEST_CASE("llm engine: a drain is reported at once, in spite of the status interval") {
  engine_stage e;
  e.deliver(node_up{scheduler_node, {11}});
  e.load();
  e.run_until(e.now + 1s);
  e.ask(e.request(1));
  CHECK(e.out.take<engine_status>().back().ready);
  e.step();
  CHECK(e.out.take<engine_status>().empty());
  e.deliver(drain{});
  CHECK_FALSE(e.out.one<engine_status>().ready);
}

TEST_CASE("llm engine: it reports preempted sequences to its routers") {
  engine_stage e;
  e.deliver(node_up{scheduler_node, {10}});
  e.device.report_loaded(4);  // 16 positions
  e.wake();
  e.ask(e.request(1, "", 10));
  e.ask(e.request(2, "", 10));
  for (int i = 0; i < 14; ++i) e.step();
  const auto news = e.out.one<sequences_preempted>();
  CHECK(news.requests == std::vector{request_id{2}});
  CHECK(e.state().preemptions == 1);
}

TEST_CASE("llm engine: it reports its step forecast, and drops requests with an infeasible TTFT target") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  e.load();
  e.ask(e.request(1, "", 30));
  for (int i = 0; i < 20; ++i) e.step(10ms);
  e.run_until(e.now + 1s);
  const auto said = e.out.take<engine_status>().back();
  CHECK(said.steps.fixed == 10ms);
  CHECK(said.uncomputed_tokens == 0);
  auto hasty = e.request(2), in_time = e.request(3), started = e.request(4);
  hasty.attempt = 7;
  hasty.due = e.now + 19ms;  // the step under way, and its own
  in_time.due = e.now + 21ms;
  started.due = e.now - 1s;
  started.progress = {{0, {8}}};
  for (const auto& g : {hasty, in_time, started}) e.ask(g);
  e.step(10ms);
  const auto dropped = e.out.one<drops>().requests;
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0].id == request_id{2});
  CHECK(dropped[0].attempt == 7);
  CHECK(dropped[0].reason == drop_reason::late);
  CHECK(e.actor.unfinished() == 3);
  e.tokens();
  e.step(10ms);
  std::set<uint64_t> got;
  for (const auto& t : e.tokens()) got.insert(t.id.value);
  CHECK(got == std::set<uint64_t>{1, 3, 4});
}

TEST_CASE("llm engine: its status has the number of sequences that TPOT targets allow") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  e.load();
  auto g = e.request(1, "", 60);
  g.tpot = 12500us;
  e.ask(g);
  for (int i = 0; i < 10; ++i) e.step(11ms);
  e.ask(e.request(2, "", 5));
  for (int i = 0; i < 6; ++i) e.step(12ms);  // a millisecond for each sequence
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().max_sequences == 2);
  e.deliver(cancel{{1}}, the_llm_gateway);
  e.step(11ms);
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().max_sequences == 4);
}
