#include "tools/node/device_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "gpu/common/model_error.hpp"

using namespace troupe;

TEST_CASE("device_pool: destruction waits for the device that is loading, not for all") {
  constexpr int devices = 64;
  cluster_spec cluster;
  for (int i = 0; i < devices; ++i)
    cluster.slots.push_back({.node = node_id{0}, .kind = device_kind::emulated});
  const machine_clock time;
  file_images files;
  device_pool pool(cluster, node_id{0}, time, files, [](slot_id) {});
  deployment line{1, model_id{0}, deployment_state::deployed, {}};
  line.definition.name = "m";
  line.definition.latency = {1ms, 1ms};
  line.definition.input_bytes = line.definition.output_bytes = 8;
  std::atomic<int> loaded{0};
  std::promise<void> begun;
  pool.load(line, [&](const load_outcome& o) {
    CHECK(o.problem.empty());
    if (++loaded == 1) begun.set_value();
    std::this_thread::sleep_for(20ms);
  });
  begun.get_future().wait();
  pool.stop_loading();
  CHECK(loaded < devices);
}

TEST_CASE("device_pool: a missing GPU is refused at once") {
  cluster_spec cluster;
  cluster.slots.push_back({.node = node_id{0}, .kind = device_kind::cuda, .gpu = 4095});
  const machine_clock time;
  file_images files;
  CHECK_THROWS_AS(device_pool(cluster, node_id{0}, time, files, [](slot_id) {}), model_error);
}
