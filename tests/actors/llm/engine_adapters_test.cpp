// An engine, its adapters and their slots.
#include "actors/llm/engine.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("llm engine: an adapter is loaded during the steps of others, and used once it is loaded") {
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

TEST_CASE("llm engine: an adapter with invalid files fails its own requests only") {
  engine_stage e;
  e.load();
  e.ask(e.request(1, "", 5));
  e.ask(e.request(2, "a"));
  llm::engine_event bad;
  bad.what = llm::engine_event::kind::adapter_failed;
  bad.adapter = e.device.loading.begin()->first;
  bad.problem = "/a: no adapter_config.json";
  e.device.loading.clear();
  e.device.deliver(bad);
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

TEST_CASE(
    "llm engine: an adapter is added once its files are read, and removed when its last request has ended") {
  engine_stage e;
  e.deliver(node_up{gateway_node, {11}});
  e.load();
  e.out.forget();
  const auto change = [&](bool load, const char* name) {
    e.deliver(change_adapter{9, {}, load, {name, "/new"}}, the_llm_gateway);
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
  e.device.deliver(read);
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

TEST_CASE("llm engine: a slot is freed after the step in which its last sequence is cancelled") {
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
  e.deliver(cancel{{1}}, the_llm_gateway);
  CHECK(e.device.here.contains(a));  // the step reads it
  e.step();
  CHECK(e.device.here.empty());
  REQUIRE(e.device.loading.size() == 1);
  e.device.end_load(e.device.loading.begin()->first);
  e.wake();
  e.step();
  CHECK(e.tokens().back().id == request_id{2});
}
