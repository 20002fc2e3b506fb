#include "tools/node/llm_device_pool.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

TEST_CASE("llm_device_pool: emulated engines know made-up adapters, and others by their folder") {
  cluster_spec cluster;
  auto& m = cluster.llms.emplace_back();
  m.name = "l";
  m.path = TROUPE_FIXTURES "/llama-tasks/base";
  m.device = device_kind::emulated;
  m.profile.kv_token_bytes = 1;
  m.kv_bytes = 1 << 10;
  m.emulated_adapters = 2;
  m.adapter_slots = 1;
  cluster.engines.push_back({llm_id{0}, node_id{0}});
  const machine_clock time;
  cluster.nodes.resize(1);
  node_images images(cluster, node_id{0});
  llm_device_pool pool(cluster, node_id{0}, time, images, {}, [](engine_id) {});
  auto& device = pool.at(engine_id{0});
  llm::engine_event e;
  REQUIRE(device.poll(time.now(), e));
  REQUIRE(e.what == llm::engine_event::kind::loaded);
  const auto problem = [&](const std::string& folder) {
    device.read_adapter(llm::adapter_id{1}, folder);
    REQUIRE(device.poll(time.now(), e));
    return e.problem;
  };
  for (const auto& made_up : adapters_of(m)) CHECK(problem(made_up.path) == "");
  CHECK(problem("adapter-0002") == "adapter-0002/adapter_config.json: No such file or directory");
  CHECK(problem("/nowhere") == "/nowhere/adapter_config.json: No such file or directory");
  CHECK(problem(TROUPE_FIXTURES "/llama-tasks/adapters/sort") == "");
}
