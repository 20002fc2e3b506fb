#include "actors/kinds/actor_kind.hpp"
#include "actors/llm/gateway.hpp"

namespace troupe {
namespace {

bool may_run_llm_gateway(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].has(node_role::gateway);
}

void spawn_llm_gateway(const spawn_context& node) {
  auto* clients = node.env.clients.completions;
  if (!node.me().has(node_role::gateway) || clients == nullptr) return;
  const auto& cluster = node.cluster;
  llm_gateway::options o;
  for (const auto& m : cluster.llms) {
    o.models.push_back(m.name);
    o.prefix_blocks.push_back(m.prefix_cache && m.routing == "prefix" ? m.block_tokens : 0);
  }
  o.engines = cluster.engines;
  o.routers = leader_candidates(cluster);
  o.max_in_flight = cluster.limits.requests_in_flight;
  o.drain_timeout = cluster.limits.drain_timeout;
  o.join_timeout = cluster.limits.join_timeout();
  o.unix_epoch = node.env.clients.unix_epoch;
  node.hosts.own().add<llm_gateway>(node.name(role::llm_gateway), o, *clients, node.tenants,
                                    node.language_models);
}

}  // namespace

constinit const actor_kind llm_gateway_actor_kind{
    .kind = role::llm_gateway,
    .one_per = "gateway node",
    .does = "owns the outcome of every generation request, and its ledger; passes tokens on to clients",
    .may_run_on = may_run_llm_gateway,
    .spawn = spawn_llm_gateway,
};

}  // namespace troupe
