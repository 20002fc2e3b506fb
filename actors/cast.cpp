#include "actors/cast.hpp"

#include <caf/all.hpp>

#include "actors/actor_of.hpp"
#include "actors/gpu_worker.hpp"
#include "actors/model_queue.hpp"
#include "actors/rank_arbiter.hpp"
#include "plugins/extension.hpp"

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

batching_parameters parameters_of(const cluster_spec& cluster, const model_spec& m) {
  batching_parameters p;
  p.latency = m.latency;
  p.network = cluster.policy.network;
  p.slo = m.slo;
  // The margin counts twice: a worker may start so late (model_queue), and before that the scheduler may wake
  // so late. Without the second a batch of cheap rows, planned α before its latest start, is dropped by its
  // own timer.
  p.response = cluster.policy.response + cluster.policy.margin;
  p.margin = cluster.policy.margin;
  p.max_rows = m.max_batch;
  p.settings = cluster.policy.batching_settings;
  p.slots = std::max<uint32_t>(1, static_cast<uint32_t>(cluster.slots.size()));
  return p;
}

data_lane::options lane_options(const cluster_spec& cluster, node_id self, const cast::world& w) {
  const auto life = w.next_life({});
  return {self, life, w.secret_of(life), cluster.nodes.size(), cluster.limits.heartbeat};
}

}  // namespace

cast::cast(const cluster_spec& cluster, node_id self, world w)
    : cluster_(cluster),
      self_(self),
      office_(self),
      lane_(w.carrier, w.time, office_, lane_options(cluster, self, w)),
      pool_(self, lane_.life(), w.carrier.allocate(memory_kind::host, cluster.limits.pool_bytes)),
      memory_(pool_, lane_, office_),
      catalog_(entries_of(cluster)) {
  office_.set_lane(lane_);
  spawn_shells(w);
  auto& carrier = w.carrier;
  node_ = spawn<node>(
      w.system, node::surroundings{cluster, self, w.time, lane_, office_, w.control, catalog_,
                                   [&carrier] {
                                     const auto a = carrier.address();
                                     return std::vector<uint8_t>(a.begin(), a.end());
                                   },
                                   w.next_life, w.secret_of, [this](incarnation life) { pool_.renew(life); },
                                   w.wake, w.on_ready, w.on_drained, w.on_refused, w.broken});
  office_.set_node_actor(node_);
  lane_.start();
}

cast::~cast() { stop(); }

void cast::spawn_shells(const world& w) {
  std::vector<std::unique_ptr<shell_group>> groups;
  std::vector<std::vector<address>> names;
  const auto fresh = [&]() -> shell_group& {
    groups.push_back(std::make_unique<shell_group>(office_));
    return *groups.back();
  };
  const auto name = [&](role kind, uint32_t index) { return address{self_, lane_.life(), kind, index}; };
  const auto& me = cluster_.nodes[self_.value];
  const auto scheduler = scheduler_of(cluster_);

  // Scheduler threads share the model queues; the first also hosts the arbiter and the gateway, so that on a
  // small cluster the way from request to order stays on one thread.
  std::vector<shell_group*> threads;
  const auto thread = [&](uint32_t i) -> shell_group& {
    if (w.host_per_shell) return fresh();
    const auto n = std::max<uint32_t>(1, cluster_.limits.scheduler_threads);
    while (threads.size() < n) threads.push_back(&fresh());
    return *threads[i % n];
  };
  if (me.has(node_role::gateway)) {
    gateway::options o;
    for (const auto& m : cluster_.models) o.models.push_back(m.name);
    for (const auto& t : cluster_.tenants) {
      o.tenants.push_back(t.name);
      o.quotas.push_back({t.rate_rps, t.burst, t.concurrency});
    }
    o.scheduler = scheduler;
    o.max_in_flight = cluster_.limits.requests_in_flight;
    o.timeout = cluster_.limits.request_timeout;
    o.max_output_bytes = cluster_.limits.pool_bytes;
    thread(0).add<gateway>(name(role::gateway, 0), o, memory_, w.clients);
  }
  if (me.has(node_role::scheduler)) {
    thread(0).add<rank_arbiter>(
        name(role::rank_arbiter, 0),
        make_matchmaking(cluster_.policy.matchmaking, cluster_.policy.matchmaking_settings));
    for (uint32_t i = 0; i < cluster_.models.size(); ++i) {
      const auto& m = cluster_.models[i];
      model_queue::options o;
      o.model = model_id{i};
      o.name = m.name;
      o.arbiter = {self_, {}, role::rank_arbiter, 0};
      o.reign = epoch{lane_.life().value};
      o.network = cluster_.policy.network;
      o.max_queued_rows = cluster_.limits.queue_rows;
      o.margin = cluster_.policy.margin;
      o.latency_given = m.latency != latency_model{};
      thread(i).add<model_queue>(
          name(role::model_queue, i), o,
          make_batching(cluster_.policy.batching, cluster_.policy.shedding, parameters_of(cluster_, m)));
    }
  }
  if (me.has(node_role::worker)) {
    shell_group* shared = w.host_per_shell ? nullptr : &fresh();
    for (uint32_t i = 0; i < cluster_.slots.size(); ++i) {
      if (cluster_.slots[i].node != self_) continue;
      auto& group = shared != nullptr ? *shared : fresh();
      group.add<gpu_worker>(name(role::gpu_worker, i), gpu_worker::options{slot_id{i}},
                            w.device_of(slot_id{i}), memory_);
    }
  }
  // A slow actor of a plug-in must not keep the others waiting.
  shell_group* guests = nullptr;
  for (uint32_t i = 0; i < cluster_.actors.size(); ++i) {
    if (cluster_.actors[i].node != self_) continue;
    if (guests == nullptr || w.host_per_shell) guests = &fresh();
    guests->adopt(make_extension(cluster_, name(role::extension, i), *guests));
  }
  for (auto& g : groups) {
    if (g->size() == 0) continue;
    const auto actors = g->names();
    office_.add_host(w.spawn_host(std::move(g), w.broken), actors);
  }
}

request_id cast::next_request_id() {
  // Node, some bits of its life, counter: ids of two gateways, or of two lives of one, do not meet.
  const auto n = next_request_.fetch_add(1, std::memory_order_relaxed);
  return request_id{(uint64_t{self_.value} << 48) | ((lane_.life().value & 0xffff) << 32) | (n & 0xffffffff)};
}

slot_ready cast::describe(slot_id slot, const std::vector<loaded_model>& models) const {
  slot_ready s{slot, {self_, lane_.life(), role::gpu_worker, slot.value}, {}};
  for (uint32_t i = 0; i < models.size(); ++i) {
    const auto& m = models[i];
    s.models.push_back({model_id{i}, m.latency.alpha, m.latency.beta, cluster_.models[i].max_batch,
                        m.memory_bytes, m.layers, m.signature});
  }
  return s;
}

void cast::stop() {
  if (std::exchange(stopped_, true)) return;
  lane_.stop();
  for (const auto& host : office_.hosts()) caf::anon_send_exit(host, caf::exit_reason::kill);
  caf::anon_send_exit(node_, caf::exit_reason::kill);
}

}  // namespace troupe
