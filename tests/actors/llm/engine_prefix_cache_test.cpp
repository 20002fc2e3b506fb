// An engine whose sequences share KV blocks.
#include <utility>

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct caching_engine_stage : engine_stage {
  explicit caching_engine_stage(const llm_engine::options& o = options()) : engine_stage(o) { load(); }

  /// Runs a request for one token whose prompt has nine tokens. Returns the number of cached ones.
  uint32_t cached(uint64_t id, const std::string& scope = {}, const std::string& adapter = {}) {
    auto g = request(id, adapter, 1);
    g.prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    g.cache_scope = scope;
    ask(g);
    bring_adapters();
    step();
    const auto all = tokens();
    REQUIRE(all.size() == 1);
    return all[0].cached;
  }
  void bring_adapters() {
    for (const auto& [a, _] : std::map(device.loading)) {
      device.loading.erase(a);
      device.here.insert(a);
      llm::engine_event e;
      e.what = llm::engine_event::kind::adapter_ready;
      e.adapter = a;
      device.deliver(e);
      wake();
    }
  }
};

}  // namespace

TEST_CASE("llm engine: the first token says how many tokens of the prompt were cached") {
  caching_engine_stage e;
  CHECK(e.cached(1) == 0);
  CHECK(e.cached(2) == 8);
  const auto s = e.state();
  CHECK(s.cache_queries == 18);
  CHECK(s.cache_hits == 8);
  CHECK(s.kv_blocks_cached == 2);
  CHECK(s.kv_blocks_free == 64);  // cached blocks are free for others
  e.deliver(node_up{gateway_node, {11}});
  e.run_until(e.now + 1s);
  const auto status = e.out.one<engine_status>();
  CHECK(status.prefix_cache);
  CHECK(status.kv_used == 0);
}

TEST_CASE("llm engine: tenants, salts and adapters share no blocks") {
  caching_engine_stage e;
  CHECK(e.cached(1, "a/") == 0);
  CHECK(e.cached(2, "a/salt") == 0);
  CHECK(e.cached(3, "b/") == 0);
  CHECK(e.cached(4, "a/", "a") == 0);
  CHECK(e.cached(5, "a/", "b") == 0);
  CHECK(e.cached(6, "a/") == 8);
  CHECK(e.cached(7, "a/", "b") == 8);
}

TEST_CASE("llm engine: without a prefix cache every prompt is computed") {
  auto o = caching_engine_stage::options();
  o.prefix_cache = false;
  caching_engine_stage e(o);
  CHECK(e.cached(1) == 0);
  CHECK(e.cached(2) == 0);
  CHECK(e.state().cache_queries == 0);
  CHECK(e.state().kv_blocks_cached == 0);
}

TEST_CASE("llm engine: blocks of an adapter are dropped when it is loaded again, or unregistered") {
  caching_engine_stage e;
  CHECK(e.cached(1, "", "a") == 0);
  CHECK(e.cached(2, "", "a") == 8);
  e.cached(3, "", "b");
  e.cached(4, "", "c");  // takes the slot of "a"
  CHECK(e.state().kv_blocks_cached == 6);
  auto g = caching_engine_stage::request(5, "a", 1);
  g.prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  e.ask(g);
  e.bring_adapters();
  e.step();
  CHECK(e.tokens().at(0).cached == 0);
  const auto cached = e.state().kv_blocks_cached;
  e.deliver(change_adapter{1, {}, false, {"a", {}}}, the_llm_gateway);
  CHECK(e.state().kv_blocks_cached == cached - 2);
}

TEST_CASE("llm engine: a failed step voids the cached blocks") {
  caching_engine_stage e;
  e.cached(1);
  CHECK(e.state().kv_blocks_cached == 2);
  e.ask(e.request(2));
  e.device.fail_step("out of memory");
  e.wake();
  CHECK(e.state().kv_blocks_cached == 0);
  CHECK(e.cached(3) == 0);
}

TEST_CASE("llm engine: routers get the changes of its cached blocks, and all of them when they ask") {
  auto o = caching_engine_stage::options();
  o.tells_cached = true;
  caching_engine_stage e(o);
  e.deliver(node_up{scheduler_node, {10}});
  e.run_until(e.now + 1s);
  e.out.forget();
  e.cached(1);
  e.run_until(e.now + 1s);
  const auto first = e.out.one<cached_blocks>();
  CHECK_FALSE(first.all);
  CHECK(first.present.size() == 2);
  e.out.forget();
  e.run_until(e.now + 1s);
  CHECK(e.out.take<cached_blocks>().empty());
  e.deliver(want_cached_blocks{}, the_router);
  e.run_until(e.now + 1s);
  const auto all = e.out.one<cached_blocks>();
  CHECK(all.all);
  CHECK(all.number == first.number + 1);
  CHECK(all.present.size() == 2);
}
