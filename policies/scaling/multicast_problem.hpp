// The multicast problem: weights go from instances and host memories that hold them to the targets of a
// scale-out over chains (BlitzScale §4, "Online scaling data plane"). policies/scaling/multicast_plan.hpp
// finds the chains.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

inline constexpr uint32_t no_scale_up_domain = ~uint32_t{0};

/// A source or a target. Sources come first in `multicast_problem::nodes`, in their order of preference.
struct multicast_node {
  std::string name;
  bool busy = false;       ///< source: it sends serving traffic, so its outgoing link is not free
  bool half_rate = false;  ///< target: a serving neighbour uses its NIC, so only half of each link is used
  uint32_t domain = no_scale_up_domain;  ///< its members share an interconnect such as NVLink
};

struct multicast_problem {
  double bytes = 0;     ///< of the weights that each target needs
  uint32_t chunks = 1;  ///< equal parts in which they travel; a node forwards each one once it is complete
  /// Devices of a node that hold the same weights. Each sends 1/lanes over a NIC of its own; the devices of a
  /// target then gather the parts over its scale-up domain.
  uint32_t lanes = 1;
  std::vector<multicast_node> nodes;
  uint32_t sources = 0;            ///< number of sources
  std::vector<double> gbit_per_s;  ///< of a lane, a row of nodes for each node; 0: there is no link
  double domain_gbit_per_s = 0;    ///< of every scale-up domain; 0: moving inside a domain takes no time

  uint32_t size() const { return static_cast<uint32_t>(nodes.size()); }
  bool is_source(uint32_t node) const { return node < sources; }
  double rate(uint32_t from, uint32_t to) const { return gbit_per_s[size_t{from} * nodes.size() + to]; }
  /// Time of one chunk on a link of this rate, in nanoseconds.
  double chunk_ns(double rate) const { return bytes / lanes / chunks * 8 / rate; }
  /// Time after a chain's last chunk until the devices of a target have all weights, in nanoseconds.
  double gather_ns() const { return domain_ns() * (lanes - 1) / lanes; }
  /// Time of a broadcast inside a domain, in nanoseconds.
  double domain_ns() const { return domain_gbit_per_s > 0 ? bytes * 8 / domain_gbit_per_s : 0; }
};

/// Pipelined transfer of equal chunks over a chain, each node storing a chunk before it forwards it:
///   done(h) = Σ_{i≤h} cᵢ + (K − 1) · max_{i≤h} cᵢ,   cᵢ: time of a chunk on hop i, K: number of chunks
class chain_time {
 public:
  /// Adds a hop on which a chunk takes this long. Returns the time at which its receiver has every chunk, in
  /// nanoseconds after the beginning of the first hop.
  double add_hop(double chunk_ns, uint32_t chunks) {
    sum_ += chunk_ns;
    slowest_ = slowest_ < chunk_ns ? chunk_ns : slowest_;
    return sum_ + (chunks - 1) * slowest_;
  }

 private:
  double sum_ = 0, slowest_ = 0;
};

struct multicast_chain {
  uint32_t source = 0;
  std::vector<uint32_t> targets;  ///< each pulls from the one before it
};

/// Members of a scale-up domain that get their weights from one of them.
struct multicast_group {
  uint32_t leader = 0;  ///< a source, or a target of a chain
  std::vector<uint32_t> followers;
};

struct multicast_plan {
  std::vector<multicast_chain> chains;  ///< by their sources; every node is in one chain at most
  std::vector<multicast_group> groups;  ///< those with followers
  std::vector<uint32_t> pruned;         ///< sources that open no chain because they are busy
  bool half_rate_source = false;        ///< every source is busy, so the first one serves at half of its rate
  bool exact = false;                   ///< no other plan is better
  std::vector<duration> finish;         ///< by node; 0: source; `duration::max()`: no chain reaches it

  /// Targets that no chain reaches.
  std::vector<uint32_t> unreached() const;
  /// Of the targets that are reached.
  duration latest() const;
};

/// Throws std::invalid_argument if the problem is malformed: no source, no target, no bytes, vectors of
/// unequal sizes, negative rates, or a link so slow that times exceed 64 bits.
void check(const multicast_problem& p);

}  // namespace troupe
