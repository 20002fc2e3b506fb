#include "tools/sim/faults.hpp"

#include <algorithm>
#include <cmath>

#include "policies/common/random.hpp"

namespace troupe::sim {
namespace {

duration between(random_stream& r, duration min, duration max) {
  return min + duration{static_cast<int64_t>(r.uniform() * static_cast<double>((max - min).count()))};
}

/// Long enough that some, but not all, freezes are detected as deaths.
fault_spec draw_fault(random_stream& r, const random_fault_spec& spec, const cluster_spec& cluster,
                      duration length) {
  fault_spec f;
  f.kind = spec.kinds[r.below(spec.kinds.size())];
  f.at = between(r, {}, length);
  f.a = f.b = node_id{static_cast<uint32_t>(r.below(cluster.nodes.size()))};
  const auto silence = cluster.limits.node_timeout;
  switch (f.kind) {
    case fault_kind::delay:
    case fault_kind::reorder:
      f.extra = between(r, 100us, 20ms);
      f.length = between(r, 10ms, 300ms);
      break;
    case fault_kind::slow_link:
      f.gbit_per_s = std::pow(10.0, -3 + 3 * r.uniform());
      f.length = between(r, 10ms, 300ms);
      break;
    case fault_kind::clock_drift:
      f.drift_ppm = (r.uniform() - 0.5) * 100;
      f.length = between(r, 100ms, 500ms);
      break;
    case fault_kind::crash:
    case fault_kind::poison:
    case fault_kind::deaf: break;
    case fault_kind::restart: f.length = between(r, 1ms, 2 * silence); break;
    case fault_kind::ssd_slow:
    case fault_kind::chunk_corrupt: f.length = between(r, 10ms, 500ms); break;
    case fault_kind::stall:
    case fault_kind::cut:
    case fault_kind::freeze: f.length = between(r, 1ms, 3 * silence / 2); break;
  }
  if (f.kind == fault_kind::poison)
    while (!cluster.nodes[f.a.value].has(node_role::gateway))
      f.a = f.b = node_id{static_cast<uint32_t>(r.below(cluster.nodes.size()))};
  if (!is_of_node(f.kind) && cluster.nodes.size() > 1 && r.below(4) > 0)
    while (f.b == f.a) f.b = node_id{static_cast<uint32_t>(r.below(cluster.nodes.size()))};
  return f;
}

}  // namespace

bool has_random_faults(const workload_spec& workload) {
  return workload.random_faults.count > 0 || workload.random_faults.per_minute > 0;
}

bool faults_are_only(const workload_spec& workload, std::initializer_list<fault_kind> kinds) {
  return !has_random_faults(workload) &&
         std::all_of(workload.faults.begin(), workload.faults.end(), [&](const fault_spec& f) {
           return std::find(kinds.begin(), kinds.end(), f.kind) != kinds.end();
         });
}

bool is_of_node(fault_kind k) {
  return k == fault_kind::crash || k == fault_kind::restart || k == fault_kind::freeze ||
         k == fault_kind::clock_drift || k == fault_kind::poison || k == fault_kind::ssd_slow ||
         k == fault_kind::chunk_corrupt || k == fault_kind::deaf;
}

std::vector<fault_spec> all_faults(const workload_spec& workload, const cluster_spec& cluster,
                                   uint64_t seed) {
  auto out = workload.faults;
  const auto& spec = workload.random_faults;
  random_stream r(seed, "faults");
  auto count = spec.count;
  if (spec.per_minute > 0)
    count = static_cast<uint32_t>(spec.per_minute * to_seconds(workload.length) / 60 + 0.5);
  if (spec.kinds.empty()) count = 0;
  for (uint32_t i = 0; i < count; ++i) out.push_back(draw_fault(r, spec, cluster, workload.length));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return out;
}

void fault_log::begin(const fault_spec& f, duration from, duration until) {
  ++injected_[static_cast<size_t>(f.kind)];
  // Requests end earlier than this.
  std::erase_if(recent_, [&](const interval& i) { return i.until < from - 60s; });
  recent_.push_back({f, from, until});
}

void fault_log::request_ended(const client_request_record& r, duration now) {
  std::array<bool, fault_kind_count> hit{};
  for (const auto& i : recent_)
    if (i.from <= now && i.until >= r.offered_at && hits(i.fault, r))
      hit[static_cast<size_t>(i.fault.kind)] = true;
  for (size_t k = 0; k < hit.size(); ++k) hits_[k] += hit[k];
}

bool fault_log::hits(const fault_spec& f, const client_request_record& r) const {
  const auto works = [&](node_id n) {
    return std::find(r.workers.begin(), r.workers.end(), n) != r.workers.end();
  };
  const auto head = [&](node_id n) { return n == r.gateway || n == scheduler_; };
  const auto involved = [&](node_id n) { return head(n) || works(n); };
  if (is_of_node(f.kind) || f.a == f.b) return involved(f.a);
  return involved(f.a) && involved(f.b) && (head(f.a) || head(f.b));
}

}  // namespace troupe::sim
