// First steps of a multicast plan: scale-up domains become groups of which only a leader needs the network,
// and sources that send serving traffic are left out (BlitzScale §4.1).
#pragma once
#include <vector>

#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// Targets of which one gets the weights over the network.
struct target_group {
  std::vector<uint32_t> members;  ///< by name
  /// Members that may lead, by name: of those whose links are equal only the first.
  std::vector<uint32_t> leaders;
};

/// A multicast between sources that are free and groups.
struct grouped_multicast {
  explicit grouped_multicast(const multicast_problem& p);

  /// Rate that a transfer may use, in Gbit/s; 0: no link.
  double rate(uint32_t from, uint32_t to) const;
  /// Each group keeps one leader: the one with the fastest link from a source, by name among equals.
  void choose_leaders();

  const multicast_problem& problem;
  std::vector<uint32_t> sources;        ///< that open chains
  std::vector<uint32_t> pruned;         ///< busy sources
  std::vector<multicast_group> served;  ///< domains with a source, which need no network
  std::vector<target_group> groups;     ///< the others, by the names of their first members
  bool half_rate_source = false;        ///< the only source is busy
  std::vector<uint32_t> order;          ///< place of each node among all names
};

}  // namespace troupe
