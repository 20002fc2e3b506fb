// Rates between nodes, from the [[link]] tables of the cluster file.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// Rate of a node without a link in the file, in Gbit/s.
inline constexpr double assumed_gbit_per_s = 10;

class link_rates {
 public:
  explicit link_rates(const cluster_spec& cluster) {
    for (const auto& n : cluster.nodes) {
      const auto its = std::ranges::find_if(
          cluster.links, [&](const link_spec& l) { return std::ranges::count(l.nodes, n.name) > 0; });
      of_.push_back(its == cluster.links.end() ? link_spec{{}, assumed_gbit_per_s} : *its);
    }
    for (const auto& l : cluster.links)
      if (!l.scale_up_domain.empty() && std::ranges::count(domains_, l.scale_up_domain) == 0)
        domains_.push_back(l.scale_up_domain);
  }

  /// Of one flow from node to node, in Gbit/s: the slower interface, and the uplinks between two leaves.
  double between(node_id from, node_id to) const {
    const auto &a = of_[from.value], &b = of_[to.value];
    auto rate = std::min(a.gbit_per_s, b.gbit_per_s);
    if (a.leaf == b.leaf) return rate;
    for (const auto* l : {&a, &b})
      if (!l->leaf.empty() && l->uplink_gbit_per_s > 0) rate = std::min(rate, l->uplink_gbit_per_s);
    return rate;
  }
  /// Number of the node's scale-up domain.
  uint32_t domain_of(node_id node) const {
    const auto found = std::ranges::find(domains_, of_[node.value].scale_up_domain);
    return found == domains_.end() ? no_scale_up_domain : static_cast<uint32_t>(found - domains_.begin());
  }
  /// Images from node to node leave over a network interface: not inside a node or a scale-up domain.
  bool uses_links(node_id from, node_id to) const {
    return from != to && (domain_of(from) == no_scale_up_domain || domain_of(from) != domain_of(to));
  }
  /// The slowest scale-up domain's; 0: there is none.
  double domain_gbit_per_s() const {
    double out = 0;
    for (const auto& l : of_)
      if (l.scale_up_gbit_per_s > 0)
        out = out > 0 ? std::min(out, l.scale_up_gbit_per_s) : l.scale_up_gbit_per_s;
    return out;
  }

 private:
  std::vector<link_spec> of_;  ///< by node
  std::vector<std::string> domains_;
};

}  // namespace troupe
