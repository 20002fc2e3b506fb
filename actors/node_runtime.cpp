#include "actors/node_runtime.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/cluster/deployer.hpp"
#include "actors/cluster/node.hpp"
#include "actors/kinds/kv_arena.hpp"
#include "actors/kinds/registry.hpp"
#include "actors/runtime/actor_of.hpp"

namespace troupe {
namespace {

std::vector<catalog::entry> entries_of(const cluster_spec& cluster) {
  std::vector<catalog::entry> out;
  for (uint32_t i = 0; i < cluster.models.size(); ++i) {
    const auto& m = cluster.models[i];
    out.push_back({model_id{i}, m.name, m.slo, m.max_batch, {}, 0, true, m.images, m.runs_by()});
  }
  return out;
}

std::vector<tenant_quota> quotas_of(const cluster_spec& cluster) {
  std::vector<tenant_quota> out;
  for (const auto& t : cluster.tenants) out.push_back({t.rate_rps, t.burst, t.concurrency});
  return out;
}

data_lane::options lane_options(const cluster_spec& cluster, node_id self, const node_environment& env) {
  const auto incarnation = env.fabric.next_incarnation({});
  return {self, incarnation, env.fabric.secret_of(incarnation), cluster.nodes.size(),
          cluster.limits.heartbeat};
}

}  // namespace

node_runtime::node_runtime(const cluster_spec& cluster, node_id self, const node_environment& env)
    : cluster_(cluster),
      self_(self),
      post_(self),
      lane_(env.fabric.carrier, env.clock.time, post_, lane_options(cluster, self, env)),
      pool_(self, lane_.incarnation(),
            env.fabric.carrier.allocate(memory_kind::host, cluster.limits.pool_bytes)),
      memory_(pool_, lane_, post_),
      catalog_(entries_of(cluster)),
      language_models_(cluster),
      tenants_(quotas_of(cluster)),
      queues_(cluster, self, lane_, post_) {
  post_.set_lane(lane_);
  if (env.devices.images != nullptr && env.devices.images->capacity() > 0)
    env.devices.use_arena(env.fabric.carrier.allocate(memory_kind::host, env.devices.images->capacity()));
  if (env.devices.open_engines) {
    const auto kv_bytes = kv_arena_bytes(cluster, self);
    env.devices.open_engines(kv_bytes == 0 ? registered_memory{}
                                           : env.fabric.carrier.allocate(memory_kind::host, kv_bytes));
  }
  spawn_groups(env);
  auto& carrier = env.fabric.carrier;
  // Only gateways receive the status of engines.
  const bool waits_for_engines =
      env.clients.completions != nullptr && cluster.nodes[self.value].has(node_role::gateway);
  const auto serves_llms = [this, waits_for_engines] {
    return !waits_for_engines || language_models_.every_model_was_served();
  };
  deployer_ =
      spawn<deployer>(env.hosts.system,
                      deployer::environment{cluster, self, env.clock.time, env.control, env.devices.loader,
                                            env.devices.images != nullptr && keeps_model_files(cluster, self),
                                            env.process.read_model, env.clock.wake, env.process.begin_drain,
                                            env.process.on_unusable, env.process.broken});
  node_ = spawn<node>(
      env.hosts.system,
      node::environment{cluster, self, env.clock.time, lane_, post_, env.control, catalog_, serves_llms,
                        deployer_, [this](const deployment& line) { return queues_.keep(line); },
                        [&carrier] {
                          const auto a = carrier.address();
                          return std::vector<uint8_t>(a.begin(), a.end());
                        },
                        env.fabric.next_incarnation, env.fabric.secret_of,
                        [this](incarnation_id incarnation) { pool_.renew(incarnation); }, env.clock.wake,
                        env.process.on_ready, env.process.on_drained, env.process.on_refused,
                        env.process.broken});
  post_.set_node_actor(node_);
  post_.set_deployer(deployer_);
  caf::anon_send(deployer_, introduction{node_, lane_.incarnation()});
  lane_.start();
}

node_runtime::~node_runtime() { stop(); }

void node_runtime::spawn_groups(const node_environment& env) {
  host_plan hosts(post_, env.hosts, cluster_.limits.scheduler_threads);
  spawn_actors({cluster_, self_, lane_.incarnation(), env, memory_, tenants_, language_models_, queues_,
                hosts, post_});
  hosts.spawn(env.process.broken);
}

request_id node_runtime::next_request_id() {
  return make_request_id(self_, lane_.incarnation(), next_request_.fetch_add(1, std::memory_order_relaxed));
}

void node_runtime::to_gateway(actor_message message) {
  post_.send({self_, {}, role::gateway, 0}, std::move(message));
}

void node_runtime::to_llm_gateway(actor_message message) {
  post_.send({self_, {}, role::llm_gateway, 0}, std::move(message));
}

void node_runtime::stop() {
  if (std::exchange(stopped_, true)) return;
  post_.stop();
  lane_.stop();
  for (const auto& caf_host : post_.caf_hosts()) caf::anon_send_exit(caf_host, caf::exit_reason::kill);
  caf::anon_send_exit(node_, caf::exit_reason::kill);
  caf::anon_send_exit(deployer_, caf::exit_reason::kill);
}

}  // namespace troupe
