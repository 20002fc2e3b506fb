#include "actors/tensor/gateway.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_gateway(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].has(node_role::gateway);
}

void spawn_gateway(const spawn_context& node) {
  if (!node.me().has(node_role::gateway)) return;
  const auto& cluster = node.cluster;
  gateway::options o;
  for (const auto& m : cluster.models) o.models.push_back(m.name);
  for (const auto& t : cluster.tenants) o.tenants.push_back(t.name);
  o.scheduler = scheduler_of(cluster);
  if (has_standby(cluster)) o.leader_candidates = leader_candidates(cluster);
  o.max_in_flight = cluster.limits.requests_in_flight;
  o.timeout = cluster.limits.request_timeout;
  o.drain_timeout = cluster.limits.drain_timeout;
  o.join_timeout = cluster.limits.join_timeout();
  o.max_output_bytes = cluster.limits.pool_bytes;
  o.max_pulled_bytes = cluster.limits.bodies_bytes;
  o.decision_log = cluster.policy.decision_log;
  // In the group of the first queues: on a small cluster a request becomes an order on one thread.
  node.hosts.of_scheduler(0).add<gateway>(node.name(role::gateway), o, node.memory, node.env.clients.requests,
                                          node.tenants);
}

}  // namespace

constinit const actor_kind gateway_actor_kind{
    .kind = role::gateway,
    .one_per = "gateway node",
    .does = "owns the outcome of every request it accepted, and the ledger",
    .may_run_on = may_run_gateway,
    .spawn = spawn_gateway,
};

}  // namespace troupe
