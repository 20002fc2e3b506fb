// Rates between nodes and of their disks: from the [[link]] tables of the cluster file, and where it has none
// as nodes have measured them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/scaling/image_transfer.hpp"
#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// Rate of a node without a link in the file, in Gbit/s, until one was measured.
inline constexpr double assumed_gbit_per_s = 10;

class link_rates {
 public:
  explicit link_rates(const cluster_spec& cluster);

  /// A node has measured pulls from these peers, and its disk (0: not). Its other rates stay as they are,
  /// also those of a former process.
  void learn(node_id node, const std::vector<peer_rate>& peers, double disk_gbit_per_s);

  /// Of one flow from node to node, in Gbit/s: the slower interface, and the uplinks between two leaves. A
  /// pair with an interface without a rate has the measured one, or the slower of both nodes' best ones.
  double between(node_id from, node_id to) const;
  /// Of weights that the node reads from its disk, over the bus to its devices; 0: unknown.
  double disk_gbit_per_s(node_id node) const;

  /// Number of the node's scale-up domain.
  uint32_t domain_of(node_id node) const;
  /// Images from node to node leave over a network interface: not inside a node or a scale-up domain.
  bool uses_links(node_id from, node_id to) const {
    return from != to && (domain_of(from) == no_scale_up_domain || domain_of(from) != domain_of(to));
  }
  /// The slowest scale-up domain's; 0: there is none.
  double domain_gbit_per_s() const;

  struct measured_link {
    node_id from, to;
    double gbit_per_s = 0;
  };
  /// By `to`, then `from`.
  std::vector<measured_link> measured_links() const;
  /// 0: none.
  double measured_disk_gbit_per_s(node_id node) const { return measured_[node.value].disk_gbit_per_s; }

 private:
  struct measured {
    std::vector<peer_rate> peers;  ///< by node
    double disk_gbit_per_s = 0;
    double best = 0;  ///< of pulls to and from it
  };
  double without_interfaces(node_id from, node_id to) const;

  std::vector<link_spec> of_;       ///< by node; without a rate: none in the file
  std::vector<measured> measured_;  ///< by node that has measured
  std::vector<std::string> domains_;
};

}  // namespace troupe
