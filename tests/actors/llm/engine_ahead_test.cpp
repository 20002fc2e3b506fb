// An engine whose device takes a step ahead.
#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm engine: it starts a step during another, and drops the tokens of ended sequences") {
  engine_stage e;
  e.device.steps_ahead = 1;
  e.load();
  auto g = e.request(1, "", 9);
  g.stop = {9};  // the second token
  e.ask(g);
  REQUIRE(e.device.next);
  CHECK(e.device.next->tokens == std::vector{llm::chosen_before(0)});
  e.step();
  CHECK(e.device.steps == 3);
  e.step();
  const auto tokens = e.tokens();
  REQUIRE(tokens.size() == 2);
  CHECK(tokens[1].which == 9);
  CHECK(tokens[1].finish == finish_reason::stop);
  CHECK(e.actor.unfinished() == 0);
  CHECK(e.device.running);  // a wasted row
  CHECK_FALSE(e.device.next);
  CHECK(e.state().kv_blocks_free == 63);
  e.step();
  CHECK(e.tokens().empty());
  CHECK(e.state().kv_blocks_free == 64);
  CHECK(e.state().generated_tokens == 2);
}

TEST_CASE("llm engine: a request that arrives during two steps is in the next one") {
  engine_stage e;
  e.device.steps_ahead = 1;
  e.load();
  e.ask(e.request(1, "", 20));
  e.ask(e.request(2, "", 20));
  REQUIRE(e.device.next);
  CHECK(e.device.next->sequences.size() == 1);
  e.step();
  CHECK(e.device.running->sequences.size() == 1);
  REQUIRE(e.device.next);
  CHECK(e.device.next->sequences.size() == 2);
  for (int i = 0; i < 25; ++i)
    if (e.device.running) e.step();
  std::map<uint64_t, std::vector<llm::token>> got;
  for (const auto& t : e.tokens()) got[t.id.value].push_back(t.which);
  CHECK(got[1].size() == 20);
  CHECK(got[2] == got[1]);
}

TEST_CASE("llm engine: a slot is freed once no step has its ended sequences") {
  auto o = engine_stage::options();
  o.adapter_slots = 1;
  engine_stage e(o);
  e.device.steps_ahead = 1;
  e.load();
  e.ask(e.request(1, "a", 50));
  const auto a = e.device.loading.begin()->first;
  e.device.end_load(a);
  e.wake();
  e.ask(e.request(2, "b", 1));
  REQUIRE(e.device.next);
  e.deliver(cancel{{1}}, the_llm_gateway);
  e.step();
  CHECK(e.device.here.contains(a));  // the second step still uses it
  e.step();
  CHECK(e.device.here.empty());
  REQUIRE(e.device.loading.size() == 1);
}

TEST_CASE("llm engine: a failed step cancels the step behind it, but fails only its own sequences") {
  engine_stage e;
  e.device.steps_ahead = 1;
  e.load();
  e.ask(e.request(1));
  e.step();
  e.ask(e.request(2, "", 1));
  e.step();
  REQUIRE(e.device.next);  // the third token of the first, and the prompt of the second, are in one each
  e.device.fail_step("out of memory");
  e.wake();
  const auto failed = e.out.one<completion>();
  REQUIRE(failed.results.size() == 1);
  CHECK(failed.results[0].id == request_id{1});
  e.tokens();
  e.step();
  CHECK(e.tokens().front().id == request_id{2});
  CHECK(e.actor.unfinished() == 0);
  CHECK(e.state().kv_blocks_free == 64);
}
