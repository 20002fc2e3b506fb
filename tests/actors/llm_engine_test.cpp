#include "actors/llm_engine.hpp"

#include "tests/actors/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm engine: takes nothing before its model is there, and says when it is") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
  CHECK_FALSE(e.out.one<engine_status>().ready);
  CHECK(e.out.one<adapters_known>().present.size() == 3);
  e.ask(e.request(1));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::no_capacity);
  CHECK(e.state().layers == 0);
  llm::engine_event some;
  some.what = llm::engine_event::kind::layers_ready;
  some.facts = scripted_engine_device::facts(64);
  some.facts.layers_ready = 2;
  e.device.tell(some);
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

TEST_CASE("llm engine: a model that cannot be loaded is told, and every request fails with why") {
  std::string told;
  auto o = engine_stage::options();
  o.on_unusable = [&](const std::string& why) { told = why; };
  engine_stage e(o);
  llm::engine_event bad;
  bad.what = llm::engine_event::kind::unusable;
  bad.problem = "x.safetensors: is cut off";
  e.device.tell(bad);
  e.wake();
  CHECK(told == "m: x.safetensors: is cut off");
  e.ask(e.request(1));
  CHECK(e.out.one<completion>().results.front().detail == "x.safetensors: is cut off");
}

TEST_CASE("llm engine: sends every token of a step at once, and the last with its reason") {
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

TEST_CASE("llm engine: the choices of a request are texts of their own, and one that is ended stops alone") {
  engine_stage e;
  e.load();
  auto g = e.request(1, "", 4);
  g.choices = 2;
  e.ask(g);
  e.step();  // both prompts
  e.step();
  e.tell(end_choice{{1}, 0}, the_llm_gateway);
  e.tokens();
  e.step();
  for (const auto& t : e.tokens()) CHECK(t.choice == 1);
  CHECK(e.actor.unfinished() == 1);
  e.tell(end_choice{{1}, 1}, the_llm_gateway);
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: an adapter is brought in beside the steps of others, and used once it is there") {
  engine_stage e;
  e.load();
  e.ask(e.request(1, "", 20));
  e.ask(e.request(2, "b", 2));
  REQUIRE(e.device.loading.size() == 1);
  const auto b = e.device.loading.begin()->first;
  CHECK(e.device.loading.at(b) == "/b");
  for (int i = 0; i < 3; ++i) e.step();
  for (const auto& t : e.tokens()) CHECK(t.id == request_id{1});
  e.device.end_load(b);
  e.wake();
  for (int i = 0; i < 3; ++i) e.step();
  size_t of_second = 0;
  for (const auto& t : e.tokens()) of_second += t.id == request_id{2};
  CHECK(of_second == 2);
}

TEST_CASE("llm engine: more adapters than slots take turns, and all are served") {
  engine_stage e;
  e.load();
  uint64_t id = 0;
  for (const char* adapter : {"a", "b", "c", "a", "c", "b"}) e.ask(e.request(++id, adapter, 2));
  std::map<uint64_t, uint32_t> got;
  for (int i = 0; i < 100 && e.actor.unfinished() > 0; ++i) {
    CHECK(e.device.loading.size() + e.device.here.size() <= 2);
    if (!e.device.loading.empty()) {
      e.device.end_load(e.device.loading.begin()->first);
      e.wake();
    }
    if (e.device.running) e.step();
    for (const auto& t : e.tokens()) ++got[t.id.value];
  }
  CHECK(e.actor.unfinished() == 0);
  CHECK(got.size() == 6);
  for (const auto& [_, n] : got) CHECK(n == 2);
}

TEST_CASE("llm engine: an adapter whose files will not do fails its own requests only") {
  engine_stage e;
  e.load();
  e.ask(e.request(1, "", 5));
  e.ask(e.request(2, "a"));
  llm::engine_event bad;
  bad.what = llm::engine_event::kind::adapter_failed;
  bad.adapter = e.device.loading.begin()->first;
  bad.problem = "/a: no adapter_config.json";
  e.device.loading.clear();
  e.device.tell(bad);
  e.wake();
  const auto failed = e.out.one<completion>();
  REQUIRE(failed.results.size() == 1);
  CHECK(failed.results[0].id == request_id{2});
  CHECK(failed.results[0].error == failure::adapter_unusable);
  CHECK(failed.results[0].detail == "adapter 'a' cannot be loaded");
  const auto known = e.actor.on_command({1, "list_adapters", R"({"limit": 1, "after": ""})"}, e.now).body;
  CHECK(known.find("/a: no adapter_config.json") != known.npos);
  e.step();
  CHECK(e.tokens().size() == 1);
  e.ask(e.request(3, "a"));
  CHECK(e.device.loading.size() == 1);  // tried again
}

TEST_CASE("llm engine: adapters come once their files were read, and go when their last request has ended") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
  e.load();
  e.out.forget();
  const auto change = [&](bool load, const char* name) {
    e.tell(change_adapter{9, {}, load, {name, "/new"}}, the_llm_gateway);
  };
  change(true, "a");
  CHECK(e.out.one<adapter_changed>().answer == adapter_answer::exists);
  change(true, "new");
  CHECK(e.out.take<adapter_changed>().empty());
  e.ask(e.request(1, "new"));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::undeployed);
  llm::engine_event read;
  read.what = llm::engine_event::kind::adapter_read;
  read.adapter = e.device.reading.begin()->first;
  e.device.tell(read);
  e.wake();
  CHECK(e.out.one<adapters_known>().present.front().name == "new");
  CHECK(e.out.one<adapter_changed>().answer == adapter_answer::done);
  e.ask(e.request(2, "new", 1));
  change(false, "new");
  CHECK(e.out.one<adapters_known>().gone.front() == "new");
  CHECK(e.out.take<adapter_changed>().empty());
  e.ask(e.request(3, "new"));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::undeployed);
  e.device.end_load(read.adapter);
  e.wake();
  e.step();
  CHECK(e.out.one<adapter_changed>().answer == adapter_answer::done);
  CHECK(e.device.here.empty());  // its slot is free
  change(false, "new");
  CHECK(e.out.one<adapter_changed>().answer == adapter_answer::unknown);
}

TEST_CASE("llm engine: what is cancelled, or whose gateway dies, is gone after the step") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
  e.load();
  e.ask(e.request(1, "", 50));
  e.ask(e.request(2, "", 50));
  e.step();
  e.tell(cancel{{1}}, the_llm_gateway);
  CHECK(e.actor.unfinished() == 1);
  e.step();
  e.tokens();
  e.step();
  for (const auto& t : e.tokens()) CHECK(t.id == request_id{2});
  e.tell(node_down{gateway_node, {10}});  // an earlier life
  CHECK(e.actor.unfinished() == 1);
  e.tell(node_down{gateway_node, {11}});
  CHECK(e.actor.unfinished() == 0);
  e.step();
  CHECK(e.state().kv_blocks_free == 64);
  CHECK_FALSE(e.device.running);
}

TEST_CASE("llm engine: a slot is free for others when its last text was cancelled during a step") {
  auto o = engine_stage::options();
  o.adapter_slots = 1;
  engine_stage e(o);
  e.load();
  e.ask(e.request(1, "a", 50));
  const auto a = e.device.loading.begin()->first;
  e.device.end_load(a);
  e.wake();
  e.ask(e.request(2, "b", 1));
  REQUIRE(e.device.running);
  e.tell(cancel{{1}}, the_llm_gateway);
  CHECK(e.device.here.contains(a));  // the step reads it
  e.step();
  CHECK(e.device.here.empty());
  REQUIRE(e.device.loading.size() == 1);
  e.device.end_load(e.device.loading.begin()->first);
  e.wake();
  e.step();
  CHECK(e.tokens().back().id == request_id{2});
}

TEST_CASE("llm engine: its status follows what it does, and not only what comes and goes") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
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
  e.tell(cancel{{1}}, the_llm_gateway);
  e.tell(cancel{{2}}, the_llm_gateway);
  e.step();
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().running == 0);
}

TEST_CASE("llm engine: a step that fails ends the texts that it held, and no others") {
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

TEST_CASE("llm engine: one whose device is lost ends its process, so that its texts go on elsewhere") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  llm::engine_event lost;
  lost.what = llm::engine_event::kind::lost;
  lost.problem = "an illegal address";
  e.device.tell(lost);
  CHECK_THROWS_WITH(e.wake(), doctest::Contains("its device is lost: an illegal address"));
}

TEST_CASE("llm engine: its queue is bounded, all choices of a request are in or none") {
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

TEST_CASE("llm engine: what does not fit fails with the numbers") {
  engine_stage e;
  e.load();
  e.ask(e.request(1, "", 200));
  CHECK(e.out.one<completion>().results.front().detail.find("100 positions") != std::string::npos);
  auto g = e.request(2);
  g.prompt = {5, 1000};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().detail.find("vocabulary") != std::string::npos);
}

TEST_CASE("llm engine: while it drains it finishes what it has and takes nothing new") {
  engine_stage e;
  e.load();
  e.ask(e.request(1));
  e.tell(drain{});
  e.ask(e.request(2));
  CHECK(e.out.one<drops>().requests.front().reason == drop_reason::draining);
  for (int i = 0; i < 3; ++i) e.step();
  CHECK(e.tokens().back().finish == finish_reason::length);
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: that it drains is said at once, however short ago it said something") {
  engine_stage e;
  e.tell(node_up{scheduler_node, {11}});
  e.load();
  e.run_until(e.now + 1s);
  e.ask(e.request(1));
  CHECK(e.out.take<engine_status>().back().ready);
  e.step();
  CHECK(e.out.take<engine_status>().empty());
  e.tell(drain{});
  CHECK_FALSE(e.out.one<engine_status>().ready);
}

TEST_CASE("llm engine: a text that another began goes on with the tokens that it would have got there") {
  engine_stage whole, rest;
  whole.load();
  rest.load();
  whole.ask(whole.request(1, "", 5));
  for (int i = 0; i < 5; ++i) whole.step();
  const auto all = whole.tokens();
  REQUIRE(all.size() == 5);
  auto g = rest.request(1, "", 5);
  g.attempt = 2;
  g.begun = {{0, {all[0].which, all[1].which}}};
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

TEST_CASE("llm engine: of several choices only those go on that had not ended") {
  engine_stage e;
  e.load();
  auto g = e.request(1, "", 5);
  g.choices = 3;
  g.begun = {{2, {7}}};
  e.ask(g);
  for (int i = 0; i < 4; ++i) e.step();
  for (const auto& t : e.tokens()) CHECK(t.choice == 2);
  CHECK(e.actor.unfinished() == 0);
  g.begun = {{2, {7}}, {2, {7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
  g.begun = {{3, {7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
  g.begun = {{2, {7, 7, 7, 7, 7}}};
  e.ask(g);
  CHECK(e.out.one<completion>().results.front().error == failure::device_error);
}

TEST_CASE("llm engine: tells its routers which text gave its blocks to an older one") {
  engine_stage e;
  e.tell(node_up{scheduler_node, {10}});
  e.device.tell_loaded(4);  // 16 positions
  e.wake();
  e.ask(e.request(1, "", 10));
  e.ask(e.request(2, "", 10));
  for (int i = 0; i < 14; ++i) e.step();
  const auto news = e.out.one<texts_evicted>();
  CHECK(news.requests == std::vector{request_id{2}});
  CHECK(e.state().evictions == 1);
}

TEST_CASE("llm engine: says how long its steps take, and drops what cannot have its first token in time") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
  e.load();
  e.ask(e.request(1, "", 30));
  for (int i = 0; i < 20; ++i) e.step(10ms);
  e.run_until(e.now + 1s);
  const auto said = e.out.take<engine_status>().back();
  CHECK(said.steps.fixed == 10ms);
  CHECK(said.unread == 0);
  auto hasty = e.request(2), in_time = e.request(3), begun = e.request(4);
  hasty.attempt = 7;
  hasty.due = e.now + 19ms;  // the step under way, and its own
  in_time.due = e.now + 21ms;
  begun.due = e.now - 1s;
  begun.begun = {{0, {8}}};
  for (const auto& g : {hasty, in_time, begun}) e.ask(g);
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

TEST_CASE("llm engine: deferred prompts begin when their time comes, though nothing else happens") {
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

TEST_CASE("llm engine: takes for its room what targets for tokens leave of it") {
  engine_stage e;
  e.tell(node_up{gateway_node, {11}});
  e.load();
  auto g = e.request(1, "", 60);
  g.tpot = 12500us;
  e.ask(g);
  for (int i = 0; i < 10; ++i) e.step(11ms);
  e.ask(e.request(2, "", 5));
  for (int i = 0; i < 6; ++i) e.step(12ms);  // a millisecond for each text
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().max_sequences == 2);
  e.tell(cancel{{1}}, the_llm_gateway);
  e.step(11ms);
  e.run_until(e.now + 1s);
  CHECK(e.out.take<engine_status>().back().max_sequences == 4);
}
