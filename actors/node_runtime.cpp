#include "actors/node_runtime.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/cluster/node.hpp"
#include "actors/cluster/placer.hpp"
#include "actors/extension/extension.hpp"
#include "actors/llm/router.hpp"
#include "actors/runtime/actor_of.hpp"
#include "actors/tensor/gpu_worker.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/queue_policy.hpp"
#include "actors/tensor/rank_arbiter.hpp"

namespace troupe {
namespace {

std::vector<catalog::entry> entries_of(const cluster_spec& cluster) {
  std::vector<catalog::entry> out;
  for (uint32_t i = 0; i < cluster.models.size(); ++i) {
    const auto& m = cluster.models[i];
    out.push_back({model_id{i}, m.name, m.slo, m.max_batch, {}, 0});
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

/// The arbiter plans where models run, and must know the load for it.
bool places_models(const cluster_spec& cluster) { return cluster.policy.matchmaking == "nexus"; }

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
  if (places_models(cluster)) {
    o.models = cluster.models;
    o.network = cluster.policy.network;
    o.response = cluster.policy.response + cluster.policy.margin;  // as in `parameters_of`
  }
  return o;
}

llm_router::options router_options(const cluster_spec& cluster, llm_id model) {
  const auto& m = cluster.llms[model.value];
  llm_router::options o;
  o.model = model;
  o.name = m.name;
  o.routing = m.routing;
  for (const auto id : engines_of(cluster, model)) o.engines.emplace_back(id, cluster.engines[id.value].node);
  o.max_waiting = m.max_waiting;
  o.consolidate_every = m.consolidate_every;
  return o;
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
      tenants_(quotas_of(cluster)) {
  post_.set_lane(lane_);
  spawn_actors(env);
  auto& carrier = env.fabric.carrier;
  // other nodes than gateways hear nothing of engines
  const bool waits_for_engines =
      env.clients.completions != nullptr && cluster.nodes[self.value].has(node_role::gateway);
  const auto serves_llms = [this, waits_for_engines] {
    return !waits_for_engines || language_models_.every_model_was_served();
  };
  deployer_ = spawn<deployer>(
      env.hosts.system, deployer::environment{cluster, self, env.clock.time, env.control, env.devices.loader,
                                              env.process.read_model, env.clock.wake, env.process.begin_drain,
                                              env.process.on_unusable, env.process.broken});
  node_ = spawn<node>(
      env.hosts.system,
      node::environment{cluster, self, env.clock.time, lane_, post_, env.control, catalog_, serves_llms,
                        deployer_, [this](const deployment& line) { return keep_queue(line); },
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

void node_runtime::spawn_actors(const node_environment& env) {
  std::vector<std::unique_ptr<actor_group>> groups;
  std::vector<std::vector<address>> names;
  const auto fresh = [&]() -> actor_group& {
    groups.push_back(std::make_unique<actor_group>(post_));
    return *groups.back();
  };
  const auto name = [&](role kind, uint32_t index) {
    return address{self_, lane_.incarnation(), kind, index};
  };
  const auto& me = cluster_.nodes[self_.value];
  const auto scheduler = scheduler_of(cluster_);

  // Scheduler threads share the model queues, as `post` knows; the first also hosts the gateway, so that
  // on a small cluster the way from request to order stays on one thread.
  std::vector<actor_group*> threads;
  const auto shared_threads = std::max<uint32_t>(1, cluster_.limits.scheduler_threads);
  while (!env.hosts.one_per_actor && threads.size() < shared_threads) threads.push_back(&fresh());
  const auto thread = [&](uint32_t i) -> actor_group& {
    return env.hosts.one_per_actor ? fresh() : *threads[i % shared_threads];
  };
  std::vector<actor_group*> with_queues;
  if (me.has(node_role::gateway)) {
    gateway::options o;
    for (const auto& m : cluster_.models) o.models.push_back(m.name);
    for (const auto& t : cluster_.tenants) o.tenants.push_back(t.name);
    o.scheduler = scheduler;
    if (has_standby(cluster_)) o.leader_candidates = leader_candidates(cluster_);
    o.max_in_flight = cluster_.limits.requests_in_flight;
    o.timeout = cluster_.limits.request_timeout;
    o.drain_timeout = cluster_.limits.drain_timeout;
    o.max_output_bytes = cluster_.limits.pool_bytes;
    o.max_pulled_bytes = cluster_.limits.bodies_bytes;
    o.decision_log = cluster_.policy.decision_log;
    thread(0).add<gateway>(name(role::gateway, 0), o, memory_, env.clients.requests, tenants_);
  }
  if (me.has(node_role::gateway) && env.clients.completions != nullptr) {
    llm_gateway::options o;
    for (const auto& m : cluster_.llms) o.models.push_back(m.name);
    o.engines = cluster_.engines;
    o.routers = leader_candidates(cluster_);
    o.max_in_flight = cluster_.limits.requests_in_flight;
    o.drain_timeout = cluster_.limits.drain_timeout;
    fresh().add<llm_gateway>(name(role::llm_gateway, 0), o, *env.clients.completions, tenants_,
                             language_models_);
  }
  if (me.schedules()) {
    for (uint32_t d = 0; d < domain_count(cluster_); ++d)
      thread(d).add<rank_arbiter>(
          name(role::rank_arbiter, d),
          make_matchmaking(cluster_.policy.matchmaking, cluster_.policy.matchmaking_settings),
          arbiter_options(cluster_, d));
    for (uint32_t i = 0; i < cluster_.models.size(); ++i) {
      auto& group = thread(i);
      const auto& m = cluster_.models[i];
      group.adopt(make_queue({0, model_id{i}, deployment_state::deployed, m, m.domain}, group));
      queues_[model_id{i}] = cluster_.models[i];
      if (env.hosts.one_per_actor) with_queues.push_back(&group);
    }
    if (!env.hosts.one_per_actor) with_queues = threads;
  }
  if (me.has(node_role::worker)) {
    actor_group* shared = env.hosts.one_per_actor ? nullptr : &fresh();
    for (uint32_t i = 0; i < cluster_.slots.size(); ++i) {
      if (cluster_.slots[i].node != self_) continue;
      auto& group = shared != nullptr ? *shared : fresh();
      group.add<gpu_worker>(name(role::gpu_worker, i), gpu_worker::options{slot_id{i}, me.domain},
                            env.devices.of_slot(slot_id{i}), memory_);
    }
  }
  if (me.schedules()) {
    actor_group* routers = nullptr;
    for (uint32_t i = 0; i < cluster_.llms.size(); ++i) {
      if (routers == nullptr || env.hosts.one_per_actor) routers = &fresh();
      routers->add<llm_router>(name(role::llm_router, i), router_options(cluster_, llm_id{i}));
    }
  }
  for (uint32_t i = 0; env.devices.of_engine && i < cluster_.engines.size(); ++i)
    if (cluster_.engines[i].node == self_)
      fresh().add<llm_engine>(name(role::llm_engine, i), engine_options(engine_id{i}, env),
                              env.devices.of_engine(engine_id{i}));
  if (me.has(node_role::scheduler) && cluster_.placer.epoch > duration{})
    fresh().add<placer>(name(role::placer, 0), cluster_);  // alone: its search takes a while
  // A slow actor of a plug-in must not keep the others waiting.
  actor_group* guests = nullptr;
  for (uint32_t i = 0; i < cluster_.actors.size(); ++i) {
    if (cluster_.actors[i].node != self_) continue;
    if (guests == nullptr || env.hosts.one_per_actor) guests = &fresh();
    guests->adopt(make_extension(cluster_, name(role::extension, i), *guests));
  }
  std::vector<caf::actor> queue_caf_hosts(with_queues.size());
  for (auto& g : groups) {
    const auto place = std::find(with_queues.begin(), with_queues.end(), g.get());
    if (g->size() == 0 && place == with_queues.end()) continue;
    const auto actors = g->names();
    const auto caf_host = env.hosts.spawn(std::move(g), env.process.broken);
    post_.add_caf_host(caf_host, actors);
    if (place != with_queues.end())
      queue_caf_hosts[static_cast<size_t>(place - with_queues.begin())] = caf_host;
  }
  post_.set_queue_caf_hosts(queue_caf_hosts);
}

llm_engine::options node_runtime::engine_options(engine_id id, const node_environment& env) const {
  const auto model = cluster_.engines[id.value].model;
  const auto& m = cluster_.llms[model.value];
  llm_engine::options o;
  o.model = model;
  o.engine = id;
  o.routers = leader_candidates(cluster_);
  o.name = m.name;
  for (uint32_t i = 0; i < cluster_.nodes.size(); ++i)
    if (cluster_.nodes[i].has(node_role::gateway)) o.gateways.push_back(node_id{i});
  o.max_sequences = m.max_sequences;
  o.max_waiting = m.max_waiting;
  o.prefill_chunk = m.prefill_chunk;
  o.mix_adapters = m.mix_adapters;
  o.prefill = m.prefill;
  o.adapter_slots = m.adapter_slots;
  if (env.devices.adapters_of) o.adapters = env.devices.adapters_of(model);
  o.on_unusable = env.process.on_unusable;
  return o;
}

std::unique_ptr<actor> node_runtime::make_queue(const deployment& line, outbox& out) const {
  const auto& m = line.definition;
  model_queue::options o;
  o.model = line.model;
  o.name = m.name;
  o.arbiter = {self_, {}, role::rank_arbiter, line.domain};
  o.elected = has_standby(cluster_);
  o.term = term_id{o.elected ? 0 : lane_.incarnation().value};
  o.network = cluster_.policy.network;
  o.max_queued_rows = cluster_.limits.queue_rows;
  o.margin = cluster_.policy.margin;
  o.first_batch = (line.revision << 32) + 1;
  o.slot_domains = slot_domains(cluster_);
  for (const auto& d : cluster_.domains) o.domain_names.push_back(d.name);
  if (line.wanted == deployment_state::deployed) o.leaving = line.leaving;
  o.revision = line.revision;
  o.latency_given = m.latency != latency_model{};
  o.decision_log = cluster_.policy.decision_log;
  if (places_models(cluster_)) o.load_report = 500ms;
  if (cluster_.autoscale.mode != autoscale_mode::off)
    o.load_report = cluster_.autoscale.window / (2 * autoscale_advice::samples);
  o.batching = cluster_.policy.batching;
  o.shedding = cluster_.policy.shedding;
  o.parameters = parameters_of(cluster_, m);
  return std::make_unique<model_queue>(
      address{self_, lane_.incarnation(), role::model_queue, line.model.value}, out, o,
      make_policy(cluster_, m));
}

/// A queue serves until its model is undeployed: what retires still has requests in it.
bool node_runtime::keep_queue(const deployment& line) {
  if (!cluster_.nodes[self_.value].schedules()) return false;
  if (line.wanted == deployment_state::retiring) return false;
  const bool wanted = line.wanted == deployment_state::deployed;
  const auto known = queues_.find(line.model);
  if (wanted && known != queues_.end() && known->second == line.definition) return false;
  if (wanted)
    queues_[line.model] = line.definition;
  else if (known != queues_.end())
    queues_.erase(known);
  caf::anon_send(post_.queue_caf_host(line.model),
                 regrouping{[this, line, wanted](actor_group& g, time_point now) {
                   g.remove(role::model_queue, line.model.value, now);
                   if (wanted) g.adopt(make_queue(line, g));
                 }});
  return wanted;
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
