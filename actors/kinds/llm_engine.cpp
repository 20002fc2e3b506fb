#include "actors/kinds/actor_kind.hpp"
#include "actors/llm/engine.hpp"

namespace troupe {
namespace {

llm_engine::options engine_options(const spawn_context& node, engine_id id) {
  const auto& cluster = node.cluster;
  const auto model = cluster.engines[id.value].model;
  const auto& m = cluster.llms[model.value];
  llm_engine::options o;
  o.model = model;
  o.engine = id;
  o.phase = cluster.engines[id.value].phase;
  o.routers = leader_candidates(cluster);
  o.scales = m.scales;
  o.name = m.name;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].has(node_role::gateway)) o.gateways.push_back(node_id{i});
  o.max_sequences = m.max_sequences;
  o.max_waiting = m.max_waiting;
  o.prefill_chunk = m.prefill_chunk;
  o.mix_adapters = m.mix_adapters;
  o.prefix_cache = m.prefix_cache;
  o.tells_cached = m.prefix_cache && m.routing == "prefix";
  o.prefill = m.prefill;
  o.adapter_slots = m.adapter_slots;
  if (node.env.devices.adapters_of) o.adapters = node.env.devices.adapters_of(model);
  if (!m.scales) o.on_unusable = node.env.process.on_unusable;  // else another place serves
  return o;
}

bool may_run_llm_engine(const cluster_spec& cluster, node_id node, uint32_t engine) {
  return engine < cluster.engines.size() && cluster.engines[engine].node == node;
}

void spawn_llm_engine(const spawn_context& node) {
  const auto& device_of = node.env.devices.of_engine;
  const auto& engines = node.cluster.engines;
  for (uint32_t i = 0; device_of && i < engines.size(); ++i)
    if (engines[i].node == node.self)
      node.hosts.own()
          .direct(!node.cluster.llms[engines[i].model.value].scales)  // unloading waits for the device
          .add<llm_engine>(node.name(role::llm_engine, i), engine_options(node, engine_id{i}),
                           device_of(engine_id{i}), node.memory);
}

}  // namespace

constinit const actor_kind llm_engine_actor_kind{
    .kind = role::llm_engine,
    .one_per = "engine of an `[[llm]]`",
    .does =
        "continuous batching on a device: steps of prefills and decodes, paged KV cache, adapters loaded on "
        "demand",
    .may_run_on = may_run_llm_engine,
    .spawn = spawn_llm_engine,
};

}  // namespace troupe
