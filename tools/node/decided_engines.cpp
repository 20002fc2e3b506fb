#include "tools/node/decided_engines.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <new>

#include "gpu/device/engine_choice.hpp"
#include "gpu/onnx/executor.hpp"
#include "tools/node/model_source.hpp"

namespace troupe {
namespace {

bool may_choose(const model_spec& m, const cluster_spec& cluster) {
  const auto may_load = [](const slot_spec& s) { return s.kind != device_kind::cuda; };
  return !m.path.empty() && m.engine == model_engine::automatic &&
         std::ranges::any_of(cluster.slots, may_load);
}

bool records_engines(const cluster_spec& cluster, node_id self) {
  const auto& me = cluster.nodes[self.value];
  return !me.devices.empty() || me.has(node_role::scheduler) || me.has(node_role::standby);
}

}  // namespace

std::string decide_engine(model_spec& m, const cluster_spec& cluster) try {
  if (may_choose(m, cluster)) {
    onnx::use_operator_threads(1);
    m.decided_engine = decide_engine(source_of(m));
  }
  return {};
} catch (const std::bad_alloc&) {
  return m.path + ": does not fit into memory";
} catch (const std::exception& e) {
  return e.what();
}

void decide_engines(cluster_spec& cluster, node_id self) {
  if (!records_engines(cluster, self)) return;
  for (auto& m : cluster.models) {
    if (!decide_engine(m, cluster).empty()) continue;
    if (m.decided_engine != model_engine::automatic)
      spdlog::info("event=engine model={} engine={}", m.name, to_string(m.decided_engine));
  }
}

}  // namespace troupe
