#include "tools/node/operator_actors.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/runtime/actor_of.hpp"
#include "actors/runtime/supervision.hpp"
#include "transport/common/low_priority.hpp"

namespace troupe {
namespace {

void add_metric(std::vector<metric>& out, const char* name, uint64_t value, metric::kind kind) {
  out.push_back({name, {}, static_cast<double>(value), kind});
}

metric heartbeat_metric(const round_trips& heartbeats) {
  std::vector<double> bounds;
  for (const auto& bound : round_trips::bounds) bounds.push_back(to_seconds(bound));
  metric m{"troupe_heartbeat_seconds",
           {},
           0,
           metric::kind::histogram,
           histogram{std::move(bounds), heartbeats.counts(), to_seconds(heartbeats.sum())}};
  m.value = static_cast<double>(m.distribution->count());
  return m;
}

void add_lane_metrics(const data_lane& lane, const fabric& carrier, const slot_pool& pool,
                      std::vector<metric>& out) {
  using enum metric::kind;
  const auto& s = lane.stats();
  const auto f = carrier.stats();
  add_metric(out, "troupe_lane_messages_sent_total", s.sent, counter);
  add_metric(out, "troupe_lane_messages_received_total", s.received, counter);
  add_metric(out, "troupe_lane_messages_stale_total", s.stale, counter);
  add_metric(out, "troupe_lane_messages_malformed_total", s.malformed, counter);
  add_metric(out, "troupe_lane_messages_forged_total", s.forged, counter);
  out.push_back(heartbeat_metric(s.heartbeats));
  add_metric(out, "troupe_fabric_bytes_sent_total", f.bytes_out, counter);
  add_metric(out, "troupe_fabric_bytes_received_total", f.bytes_in, counter);
  add_metric(out, "troupe_fabric_bytes_pulled_total", f.bytes_pulled, counter);
  add_metric(out, "troupe_fabric_frames_discarded_total", f.discarded_out + f.discarded_in, counter);
  add_metric(out, "troupe_pool_bytes", pool.capacity(), gauge);
  add_metric(out, "troupe_pool_used_bytes", pool.in_use(), gauge);
}

/// Metrics of the process that no actor reports.
void add_process_metrics(const operator_actors::parts& p, std::vector<metric>& out) {
  using enum metric::kind;
  add_lane_metrics(p.runtime.lane(), p.carrier, p.runtime.pool(), out);
  add_metric(out, "troupe_extension_messages_dropped_total", p.runtime.post().dropped(), counter);
  add_metric(out, "troupe_node_restarts_total", p.restarts, counter);
  add_metric(out, "troupe_exceptions_survived_total", survived_exceptions(), counter);
  out.push_back({"troupe_background_cpu_seconds_total", {}, to_seconds(low_priority_cpu_time()), counter});
  p.report_http(out);
}

template <class Handle>
console::messenger to_actor(const Handle& actor) {
  return [actor](command_query q) { caf::anon_send(actor, std::move(q)); };
}

console::facts facts_of(const operator_actors::parts& p, const metrics_protocol& gauges) {
  return {p.cluster,
          p.self,
          [&runtime = p.runtime] { return runtime.lane().incarnation().value; },
          [&process = p.process] { return process.ready(); },
          p.runtime.models(),
          gauges,
          p.runtime.deployer_actor(),
          p.runtime.post(),
          p.control,
          {{role::node, to_actor(p.runtime.node_actor())}, {role::metrics, to_actor(gauges)}},
          p.restarts,
          p.last_end};
}

}  // namespace

operator_actors::operator_actors(const parts& p)
    : metrics_(spawn<metrics>(p.system, p.runtime.post(),
                              [p](std::vector<metric>& out) { add_process_metrics(p, out); })),
      console_(spawn<console>(p.system, facts_of(p, metrics_))) {}

void operator_actors::stop() {
  caf::anon_send_exit(metrics_, caf::exit_reason::kill);
  caf::anon_send_exit(console_, caf::exit_reason::kill);
}

}  // namespace troupe
