#include <algorithm>
#include <utility>

#include "tools/sim/world_state.hpp"

namespace troupe::sim {
namespace {

/// The affected links: for a fault that names one node, those to all others.
std::vector<std::pair<node_id, node_id>> links_of(const fault_spec& f, size_t nodes) {
  if (f.a != f.b) return {{f.a, f.b}};
  std::vector<std::pair<node_id, node_id>> out;
  for (uint32_t i = 0; i < nodes; ++i)
    if (node_id{i} != f.a) out.emplace_back(f.a, node_id{i});
  return out;
}

void begin_on_link(sim_network& network, const fault_spec& f, node_id a, node_id b, duration until) {
  switch (f.kind) {
    case fault_kind::delay: return network.begin_delay(a, b, f.extra);
    case fault_kind::reorder: return network.begin_reorder(a, b, f.extra);
    case fault_kind::slow_link: return network.begin_slow(a, b, f.gbit_per_s);
    case fault_kind::stall: return network.begin_stall(a, b);
    case fault_kind::cut: return network.begin_cut(a, b, until);
    default: return;  // of a node
  }
}

void end_on_link(sim_network& network, const fault_spec& f, node_id a, node_id b) {
  switch (f.kind) {
    case fault_kind::delay: return network.end_delay(a, b, f.extra);
    case fault_kind::reorder: return network.end_reorder(a, b, f.extra);
    case fault_kind::slow_link: return network.end_slow(a, b, f.gbit_per_s);
    case fault_kind::stall: return network.end_stall(a, b);
    case fault_kind::cut: return network.end_cut(a, b);
    default: return;  // of a node
  }
}

/// Without other faults, at most: its peers end, two of their incarnations in a row do not get through
/// (policies/cluster/peer_table.hpp), each of them after the hello of the next second, and all connect anew.
duration time_to_hear_again(duration node_timeout) { return 12 * node_timeout + 4s; }

/// One of its engines' nodes or the link between them has the fault.
bool hits_handover(const fault_spec& f, const handover_log::transfer& t) {
  const auto ends = [&](node_id n) { return n == t.from || n == t.to; };
  return is_of_node(f.kind) || f.a == f.b ? ends(f.a) : f.a != f.b && ends(f.a) && ends(f.b);
}

}  // namespace

void world::state::set_disk_slowness(node_id id, double factor) {
  if (auto& n = nodes[id.value]; n.running) n.running->images().set_slowness(factor);
}

/// Its source, its target or the link between them has the fault. One of a leader candidate hits all.
bool world::state::hits_transfer(const fault_spec& f, node_id from, node_id to) const {
  const auto leads = [&](node_id n) { return cluster.nodes[n.value].schedules(); };
  const auto ends = [&](node_id n) { return n == to || n == from; };
  if (f.kind == fault_kind::ssd_slow) return f.a == to && from == to;
  if (f.kind == fault_kind::chunk_corrupt) return f.a == to && from != to;
  if (is_of_node(f.kind) || f.a == f.b) return ends(f.a) || leads(f.a);
  return (ends(f.a) || leads(f.a)) && (ends(f.b) || leads(f.b)) && (ends(f.a) || ends(f.b));
}

void world::state::count_hit_transfers(const fault_spec& f, duration until) {
  std::erase_if(active_faults, [&](const auto& other) { return other.second < time.now(); });
  active_faults.emplace_back(f, until);
  auto& hit = result.hits_of_transfers[static_cast<size_t>(f.kind)];
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (const node_id to{i}; nodes[i].running)
      for (const auto m : nodes[i].running->images().filling())
        hit += hits_transfer(f, checks.shard_orders.source(m, to).value_or(to), to);
  for (const auto& [_, t] : handovers)
    result.hits_of_handovers[static_cast<size_t>(f.kind)] += hits_handover(f, t);
}

/// Of KV blocks, with a fault on its way.
void world::state::count_faults_of_handover(const handover_log::transfer& t) {
  for (const auto& [f, until] : active_faults)
    if (until >= time.now() && hits_handover(f, t)) ++result.hits_of_handovers[static_cast<size_t>(f.kind)];
}

/// An order that begins one, or gives it another source.
void world::state::count_faults_of_transfer(node_id at, const place_copy& order) {
  if (nodes[at.value].running->images().has_all(order.model)) return;
  for (const auto& [f, until] : active_faults)
    if (until >= time.now() && hits_transfer(f, order.from, at))
      ++result.hits_of_transfers[static_cast<size_t>(f.kind)];
}

void world::state::begin_fault(const fault_spec& f) {
  const auto now = time.now(), until = now + f.length;
  tracing.add(f.kind);
  tracing.add(now);
  hits.begin(f, now, until);
  count_hit_transfers(f, until);
  const bool reset = chance.below(2) == 0;
  switch (f.kind) {
    case fault_kind::freeze: time.freeze(f.a); break;
    case fault_kind::clock_drift: nodes[f.a.value].clock.add_drift(f.drift_ppm); break;
    case fault_kind::crash: return end_process(f.a, reset);
    case fault_kind::poison: return asking.poison_next(f.a);
    case fault_kind::deaf:
      network.deafen(f.a);
      faults_end = std::max(faults_end, now + time_to_hear_again(cluster.limits.node_timeout));
      return;
    case fault_kind::ssd_slow: set_disk_slowness(f.a, 100); break;
    case fault_kind::chunk_corrupt: network.begin_corruption(f.a); break;
    case fault_kind::restart: end_process(f.a, reset); break;
    default:
      for (const auto& [a, b] : links_of(f, nodes.size())) begin_on_link(network, f, a, b, until);
  }
  faults_end = std::max(faults_end, until);
  time.at(until, sim_event::fault, [this, f] { end_fault(f); });
}

void world::state::end_fault(const fault_spec& f) {
  switch (f.kind) {
    case fault_kind::freeze: return time.thaw(f.a);
    case fault_kind::clock_drift: return nodes[f.a.value].clock.add_drift(-f.drift_ppm);
    case fault_kind::restart: return begin_process(f.a);
    case fault_kind::ssd_slow: return set_disk_slowness(f.a, 1);
    case fault_kind::chunk_corrupt: return network.end_corruption(f.a);
    default:
      for (const auto& [a, b] : links_of(f, nodes.size())) end_on_link(network, f, a, b);
  }
}

}  // namespace troupe::sim
