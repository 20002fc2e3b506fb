#include "actors/tensor/rank_arbiter.hpp"

#include "actors/kinds/actor_kind.hpp"
#include "actors/kinds/model_queues.hpp"
#include "policies/registry/matchmakings.hpp"

namespace troupe {
namespace {

rank_arbiter::options arbiter_options(const cluster_spec& cluster, uint32_t domain) {
  rank_arbiter::options o;
  o.of = {domain_name(cluster, domain), slot_domains(cluster)};
  o.elected = has_standby(cluster);
  for (const auto& s : cluster.slots) o.nodes_of_slots.push_back(s.node);
  o.decision_log = cluster.policy.decision_log;
  if (cluster.autoscale.mode != autoscale_mode::off && !cluster.slots.empty())
    o.autoscale = cluster.autoscale;
  for (uint32_t i = 0; i < cluster.slots.size(); ++i)
    if (cluster.slots[i].kind == device_kind::emulated) o.scalable.insert(slot_id{i});
  if (arbiter_places_models(cluster)) {
    o.models = cluster.models;
    o.network = cluster.policy.network;
    o.response = cluster.policy.response + cluster.policy.margin;  // as in `parameters_of`
  }
  return o;
}

bool may_run_rank_arbiter(const cluster_spec& cluster, node_id node, uint32_t domain) {
  return cluster.nodes[node.value].schedules() && domain < domain_count(cluster);
}

void spawn_rank_arbiter(const spawn_context& node) {
  if (!node.me().schedules()) return;
  const auto& policy = node.cluster.policy;
  for (uint32_t d = 0; d < domain_count(node.cluster); ++d)
    node.hosts.of_scheduler(d).add<rank_arbiter>(
        node.name(role::rank_arbiter, d), make_matchmaking(policy.matchmaking, policy.matchmaking_settings),
        arbiter_options(node.cluster, d));
}

}  // namespace

constinit const actor_kind rank_arbiter_actor_kind{
    .kind = role::rank_arbiter,
    .one_per = "scheduling domain",
    .does =
        "matches candidates to execution slots; handles batches, not requests; advises on the number of "
        "slots for the load",
    .may_run_on = may_run_rank_arbiter,
    .spawn = spawn_rank_arbiter,
};

}  // namespace troupe
