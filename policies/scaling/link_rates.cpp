#include "policies/scaling/link_rates.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

link_rates::link_rates(const cluster_spec& cluster) : measured_(cluster.nodes.size()) {
  for (const auto& n : cluster.nodes) {
    const auto its = std::ranges::find_if(
        cluster.links, [&](const link_spec& l) { return std::ranges::count(l.nodes, n.name) > 0; });
    of_.push_back(its == cluster.links.end() ? link_spec{} : *its);
  }
  for (const auto& l : cluster.links)
    if (!l.scale_up_domain.empty() && std::ranges::count(domains_, l.scale_up_domain) == 0)
      domains_.push_back(l.scale_up_domain);
}

void link_rates::learn(node_id node, const std::vector<peer_rate>& peers, double disk_gbit_per_s) {
  if (node.value >= measured_.size()) return;
  auto& m = measured_[node.value];
  if (disk_gbit_per_s > 0) m.disk_gbit_per_s = disk_gbit_per_s;
  bool changed = false;
  for (const auto& p : peers) {
    if (p.from.value >= measured_.size() || !(p.gbit_per_s > 0)) continue;
    const auto at = std::ranges::lower_bound(m.peers, p.from, {}, &peer_rate::from);
    if (at != m.peers.end() && *at == p) continue;
    changed = true;
    if (at != m.peers.end() && at->from == p.from)
      *at = p;
    else
      m.peers.insert(at, p);
  }
  if (!changed) return;
  for (auto& n : measured_) n.best = 0;
  for (auto& to : measured_)
    for (const auto& p : to.peers)
      for (auto* n : {&to, &measured_[p.from.value]}) n->best = std::max(n->best, p.gbit_per_s);
}

double link_rates::without_interfaces(node_id from, node_id to) const {
  const auto &a = measured_[from.value], &b = measured_[to.value];
  const auto its = std::ranges::lower_bound(b.peers, from, {}, &peer_rate::from);
  if (its != b.peers.end() && its->from == from) return its->gbit_per_s;
  if (a.best > 0 && b.best > 0) return std::min(a.best, b.best);
  return a.best > 0 || b.best > 0 ? std::max(a.best, b.best) : assumed_gbit_per_s;
}

double link_rates::between(node_id from, node_id to) const {
  const auto &a = of_[from.value], &b = of_[to.value];
  auto rate = std::numeric_limits<double>::infinity();
  for (const auto* l : {&a, &b})
    rate = std::min(rate, l->gbit_per_s > 0 ? l->gbit_per_s : without_interfaces(from, to));
  if (a.leaf == b.leaf) return rate;
  for (const auto* l : {&a, &b})
    if (!l->leaf.empty() && l->uplink_gbit_per_s > 0) rate = std::min(rate, l->uplink_gbit_per_s);
  return rate;
}

double link_rates::disk_gbit_per_s(node_id node) const {
  const auto& l = of_[node.value];
  if (l.ssd_gbit_per_s == 0) return measured_[node.value].disk_gbit_per_s;
  return l.host_to_device_gbit_per_s > 0 ? std::min(l.ssd_gbit_per_s, l.host_to_device_gbit_per_s)
                                         : l.ssd_gbit_per_s;
}

uint32_t link_rates::domain_of(node_id node) const {
  const auto found = std::ranges::find(domains_, of_[node.value].scale_up_domain);
  return found == domains_.end() ? no_scale_up_domain : static_cast<uint32_t>(found - domains_.begin());
}

double link_rates::domain_gbit_per_s() const {
  double out = 0;
  for (const auto& l : of_)
    if (l.scale_up_gbit_per_s > 0)
      out = out > 0 ? std::min(out, l.scale_up_gbit_per_s) : l.scale_up_gbit_per_s;
  return out;
}

std::vector<link_rates::measured_link> link_rates::measured_links() const {
  std::vector<measured_link> out;
  for (uint32_t to = 0; to < measured_.size(); ++to)
    for (const auto& p : measured_[to].peers) out.push_back({p.from, node_id{to}, p.gbit_per_s});
  return out;
}

}  // namespace troupe
