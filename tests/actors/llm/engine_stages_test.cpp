// An engine of a model that scales, which parameter pools load and unload.
#include "actors/llm/engine.hpp"
#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct scaled_engine : engine_stage {
  scaled_engine() : engine_stage(scaled()) {
    deliver(node_up{scheduler_node, {10}});
    deliver(node_up{gateway_node, {11}});
    out.forget();
  }
  static llm_engine::options scaled() {
    auto o = options();
    o.scales = true;
    return o;
  }
  void order(instance_stage to, uint64_t term = 1) { deliver(set_stage{{term}, {0}, to}); }
  void serve() {
    order(instance_stage::serving);
    load();
    out.forget();
  }
  /// The latest status for pools.
  engine_status told() {
    auto all = out.take_addressed<engine_status>();
    std::erase_if(all, [](const auto& m) { return m.first.kind != role::parameter_pool; });
    REQUIRE(!all.empty());
    return all.back().second;
  }
  std::string_view stage_now() { return actor.state(); }
  drop_reason dropped() { return out.one<drops>().requests.front().reason; }
  void read_adapter(const char* name) {
    deliver(change_adapter{1, {}, true, {name, std::string("/") + name}}, the_llm_gateway);
    REQUIRE(device.reading.size() == 1);
  }
};

}  // namespace

TEST_CASE("llm engine: it tells routers the phase that its pool gives it, but not that of a former leader") {
  scaled_engine e;
  e.serve();
  e.deliver(set_phase{{3}, {0}, instance_phase::decode});
  CHECK(e.told().phase == instance_phase::decode);
  CHECK(e.state().phase == "decode");
  e.deliver(set_phase{{2}, {0}, instance_phase::prefill});
  e.deliver(set_phase{{4}, {1}, instance_phase::prefill});  // another engine's
  CHECK(e.state().phase == "decode");
}

TEST_CASE("llm engine: a model that scales is loaded when a pool orders it") {
  scaled_engine e;
  CHECK(e.stage_now() == "idle");
  CHECK(e.device.loads == 0);
  e.ask(e.request(1));
  CHECK(e.dropped() == drop_reason::no_capacity);
  e.order(instance_stage::serving);
  CHECK(e.device.loads == 1);
  CHECK(e.told().stage == instance_stage::loading);
  e.order(instance_stage::serving);  // repeated
  CHECK(e.device.loads == 1);
  e.ask(e.request(1));
  CHECK(e.dropped() == drop_reason::no_capacity);
  e.load();
  const auto s = e.told();
  CHECK(s.stage == instance_stage::serving);
  CHECK(s.ready);
  e.ask(e.request(1));
  CHECK(e.device.running);
}

TEST_CASE("llm engine: an engine that drains finishes its requests and refuses new ones, then parks") {
  scaled_engine e;
  e.serve();
  e.ask(e.request(1));
  e.order(instance_stage::parked);
  auto s = e.told();
  CHECK(s.stage == instance_stage::draining);
  CHECK_FALSE(s.ready);
  e.ask(e.request(2));
  CHECK(e.dropped() == drop_reason::draining);
  for (int i = 0; i < 3; ++i) e.step();
  CHECK(e.tokens().back().finish == finish_reason::length);
  CHECK(e.told().stage == instance_stage::parked);
  e.ask(e.request(3));
  CHECK(e.dropped() == drop_reason::draining);
  CHECK(e.device.unloads == 0);
  e.order(instance_stage::serving);
  CHECK(e.told().ready);
  CHECK(e.device.loads == 1);
  e.ask(e.request(4));
  e.order(instance_stage::parked);
  e.order(instance_stage::serving);  // while it drains
  e.ask(e.request(5));
  CHECK(e.out.take<drops>().empty());
  while (e.device.running) e.step();
  CHECK(e.tokens().size() == 6);
}

TEST_CASE("llm engine: an idle engine has no model on its device, and loads it again") {
  scaled_engine e;
  e.serve();
  e.ask(e.request(1, "a", 1));
  e.device.end_load(e.device.loading.begin()->first);
  e.wake();
  e.step();
  e.order(instance_stage::idle);
  CHECK(e.stage_now() == "idle");
  CHECK(e.device.unloads == 1);
  const auto s = e.told();
  CHECK(s.stage == instance_stage::idle);
  CHECK(s.on_device.names.empty());
  CHECK(s.vocabulary == 1000);  // still known
  CHECK(e.state().layers_ready == 0);
  e.order(instance_stage::parked);
  CHECK(e.stage_now() == "idle");
  e.serve();
  CHECK(e.device.loads == 2);
  e.ask(e.request(2, "a", 1));
  REQUIRE(e.device.loading.size() == 1);  // onto the new device
  e.device.end_load(e.device.loading.begin()->first);
  e.wake();
  e.step();
  CHECK(e.actor.unfinished() == 0);
}

TEST_CASE("llm engine: a step under way delays the end of a model") {
  scaled_engine e;
  e.serve();
  e.ask(e.request(1));
  e.order(instance_stage::idle);
  e.deliver(cancel{{1}}, the_llm_gateway);
  CHECK(e.actor.unfinished() == 0);
  CHECK(e.stage_now() == "draining");
  CHECK(e.device.unloads == 0);
  e.step();
  CHECK(e.stage_now() == "idle");
  CHECK(e.device.unloads == 1);
}

TEST_CASE("llm engine: an adapter that is being read delays the end of a model") {
  scaled_engine e;
  e.serve();
  SUBCASE("a serving one") {
    e.read_adapter("x");
    e.order(instance_stage::idle);
    CHECK(e.stage_now() == "draining");
  }
  SUBCASE("a parked one") {
    e.order(instance_stage::parked);
    e.read_adapter("x");
    e.order(instance_stage::idle);
    CHECK(e.stage_now() == "parked");
  }
  CHECK(e.device.unloads == 0);
  e.device.end_read(e.device.reading.begin()->first);
  e.wake();
  CHECK(e.out.one<adapter_changed>().answer == adapter_answer::done);
  CHECK(e.stage_now() == "idle");
  CHECK(e.device.unloads == 1);
}

TEST_CASE("llm engine: orders of a deposed leader, and for other engines, are ignored") {
  scaled_engine e;
  e.order(instance_stage::serving, 5);
  e.load();
  e.order(instance_stage::idle, 4);
  CHECK(e.stage_now() == "serving");
  e.deliver(set_stage{{6}, {1}, instance_stage::idle});
  CHECK(e.stage_now() == "serving");
  e.order(instance_stage::idle, 5);
  CHECK(e.stage_now() == "idle");
}

TEST_CASE("llm engine: loading stops when it is ordered") {
  scaled_engine e;
  e.order(instance_stage::serving);
  e.device.report_loaded();
  e.order(instance_stage::idle);
  CHECK(e.stage_now() == "idle");
  CHECK(e.device.unloads == 1);
  e.wake();  // its events are gone
  CHECK(e.stage_now() == "idle");
  CHECK_FALSE(e.told().ready);
}

TEST_CASE("llm engine: a model that could not be loaded is tried again after idleness") {
  scaled_engine e;
  e.order(instance_stage::serving);
  llm::engine_event bad;
  bad.what = llm::engine_event::kind::unusable;
  bad.problem = "the file is cut off";
  e.device.deliver(bad);
  e.wake();
  CHECK(e.stage_now() == "unusable");
  e.run_until(e.now + 1s);
  CHECK(e.told().problem == "the file is cut off");
  e.order(instance_stage::idle);
  e.order(instance_stage::serving);
  CHECK(e.told().problem.empty());
  e.load();
  CHECK(e.told().ready);
}

TEST_CASE("llm engine: a model that does not scale tells pools nothing") {
  engine_stage e;
  e.deliver(node_up{scheduler_node, {10}});
  e.load();
  const auto all = e.out.take_addressed<engine_status>();
  CHECK(!all.empty());
  for (const auto& [to, s] : all) CHECK(to.kind != role::parameter_pool);
}
