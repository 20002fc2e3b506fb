// A trial with the actors: one node that is gateway, scheduler and worker, on a network without delay, in the
// simulated world of `troupe simulate`.
#include <algorithm>
#include <stdexcept>

#include "tools/lab/trial.hpp"
#include "tools/sim/world.hpp"

namespace troupe::lab {
namespace {

cluster_spec cluster_of(const trial& t) {
  cluster_spec c;
  c.name = "trial";
  c.hash = "0000000000000000";
  node_spec all;
  all.name = "all";
  all.roles = {node_role::gateway, node_role::scheduler, node_role::worker};
  c.nodes.push_back(all);
  for (const auto& m : t.models) {
    model_spec s;
    s.name = m.name + "/" + std::to_string(c.models.size());  // a trial may have copies of a model
    s.slo = m.slo;
    s.origin = profile_origin::given;
    s.latency = m.latency;
    s.max_batch = m.max_rows;
    s.weight = m.share;  // so that Nexus plans with the true rates, as the direct engine does
    s.input_bytes = s.output_bytes = 8;
    c.models.push_back(s);
  }
  c.slots.assign(t.slots, {.node = node_id{0}, .kind = device_kind::emulated});
  c.policy.batching = t.how.batching;
  c.policy.shedding = t.how.shedding;
  c.policy.matchmaking = t.how.matchmaking;
  c.policy.network = t.network;
  c.policy.response = t.response;
  c.limits.pool_bytes = 64 << 20;
  c.limits.request_timeout = 500ms;
  c.limits.heartbeat = 50ms;
  c.limits.node_timeout = 300ms;
  c.limits.drain_timeout = 5s;
  return c;
}

workload_spec workload_of(const trial& t) {
  workload_spec w;
  w.seed = t.seed;
  w.length = t.length;
  w.warmup = t.warm_up;
  double shares = 0;
  for (const auto& m : t.models) shares += m.share;
  for (uint32_t i = 0; i < t.models.size(); ++i) {
    const auto& m = t.models[i];
    model_load l;
    l.model = model_id{i};
    l.rate_rps = t.rate * m.share / shares;
    l.arrivals = t.arrivals;
    l.gamma_cv = t.gamma_cv;
    l.slo = m.slo;
    l.latency = m.latency;
    w.models.push_back(l);
  }
  return w;
}

void count(const batch_trace& b, duration start, const trial& t, trial_result& out, trial_watch* watch) {
  const auto at = [&](time_point p) { return p.time_since_epoch() - start; };
  const auto from = at(b.times.started_at), until = at(b.times.finished_at);
  const bool stopped = !b.refused.empty();
  const auto planned = stopped ? from + t.models[b.model.value].latency(b.rows) : until;
  if (watch != nullptr) {
    trial_watch::batch event{b.model.value, b.slot.value, b.rows, at(b.times.ordered_at), from, planned};
    watch->on_batch(event);
    event.ends = until;
    if (stopped) watch->on_stopped(event);
  }
  out.busy[b.slot.value] += std::max(duration{}, std::min(until, t.length) - std::max(from, t.warm_up));
  if (stopped) {
    ++out.preempted;
    return;
  }
  if (from < t.warm_up || from >= t.length) return;
  if (b.rows >= out.batches.size()) out.batches.resize(b.rows + 1);
  ++out.batches[b.rows];
}

}  // namespace

trial_result run_actors(const trial& t, trial_watch* watch) {
  if (!t.changes.empty()) throw std::invalid_argument("the actors' engine does not change the load");
  sim::world world(cluster_of(t), workload_of(t),
                   {.seed = t.seed,
                    .caf_host_per_actor = false,  // as on a real node
                    .record = true,
                    .instant = true,
                    .in_order = true});
  const auto r = world.run();
  if (!r.violations.empty())
    throw std::runtime_error("the simulation violated an invariant: " + r.violations[0].what);

  trial_result out;
  out.measured = r.measured;
  out.busy.resize(t.slots);
  out.requests = r.total.offered;
  for (const auto& m : r.models) out.models.push_back({m.offered, m.in_slo});
  for (const auto& b : r.records.batches)
    if (b.what.refused.empty() || (b.what.refused == "preempted" && b.what.times.started_at != never))
      count(b.what, r.load_began, t, out, watch);
  for (const auto& q : r.records.requests) {
    const auto& x = q.what;
    const auto arrived = x.arrival.time_since_epoch() - r.load_began;
    if (x.outcome == "finished" && arrived >= t.warm_up && arrived < t.length)
      out.queueing.add(x.times.started_at - x.arrival);
    if (x.outcome == "dropped" && watch != nullptr)
      watch->on_loss({x.model.value, arrived, x.answered_at.time_since_epoch() - r.load_began});
  }
  return out;
}

}  // namespace troupe::lab
