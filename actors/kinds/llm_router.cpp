#include "actors/kinds/actor_kind.hpp"
#include "actors/llm/router.hpp"

namespace troupe {
namespace {

llm_router::options router_options(const cluster_spec& cluster, llm_id model) {
  const auto& m = cluster.llms[model.value];
  llm_router::options o;
  o.model = model;
  o.name = m.name;
  o.routing = m.routing;
  o.disaggregated = m.disaggregated();
  for (const auto id : engines_of(cluster, model)) o.engines.emplace_back(id, cluster.engines[id.value].node);
  o.max_waiting = m.max_waiting;
  o.consolidate_every = m.consolidate_every;
  if (m.scales) o.cold_start = m.cold_start, o.pools = leader_candidates(cluster);
  if (m.loop.mode != autoscale_mode::off) o.load_window = m.loop.window;
  return o;
}

bool may_run_llm_router(const cluster_spec& cluster, node_id node, uint32_t llm) {
  return cluster.nodes[node.value].schedules() && llm < cluster.llms.size();
}

void spawn_llm_router(const spawn_context& node) {
  if (!node.me().schedules()) return;
  for (uint32_t i = 0; i < node.cluster.llms.size(); ++i)
    node.hosts.shared(role::llm_router)
        .add<llm_router>(node.name(role::llm_router, i), router_options(node.cluster, llm_id{i}));
}

}  // namespace

constinit const actor_kind llm_router_actor_kind{
    .kind = role::llm_router,
    .one_per = "`[[llm]]` on every leader candidate",
    .does = "places each request on an engine, and migrates it later if that is better",
    .may_run_on = may_run_llm_router,
    .spawn = spawn_llm_router,
};

}  // namespace troupe
