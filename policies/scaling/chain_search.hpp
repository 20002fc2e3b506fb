// Two searches for the chains of a multicast: greedy by rates, as the paper does, and exact.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/scaling/multicast_groups.hpp"

namespace troupe {

/// Chains, of which the best has the most groups, then the earliest latest finish, then the least sum of
/// finishes, each over all members of its groups.
struct found_chains {
  std::vector<multicast_chain> chains;  ///< by their sources; without empty ones
  size_t groups = 0;                    ///< that they reach
  int64_t latest_ns = 0, sum_ns = 0;

  bool better_than(const found_chains& other) const {
    if (groups != other.groups) return groups > other.groups;
    return latest_ns != other.latest_ns ? latest_ns < other.latest_ns : sum_ns < other.sum_ns;
  }
};

/// Finish of a group whose leader has all chunks after `leader_ns`.
struct group_finish {
  group_finish(const multicast_problem& p, size_t members, double leader_ns)
      : leader(rounded(leader_ns + p.gather_ns())),
        followers(members > 1 ? rounded(leader_ns + p.gather_ns() + p.domain_ns()) : leader),
        sum(leader + static_cast<int64_t>(members - 1) * followers) {}
  int64_t leader = 0, followers = 0;  ///< in ns; each follower's; equal if there are none
  int64_t sum = 0;

 private:
  static int64_t rounded(double ns) { return static_cast<int64_t>(ns + 0.5); }
};

/// BlitzScale's algorithm (§4.1, lines 4–11): the fastest link from a chain's tail to a target without a
/// chain becomes that chain's next hop. Among equal links: the shortest chain, then the order of sources,
/// then the order of names. Needs groups with one leader each. O(targets² · sources).
found_chains greedy_chains(const grouped_multicast& g);

/// The best chains; among equals those with the earliest finishes by name, then by names along the chains.
/// `at_least` bounds the search: chains that are no better are already known. Needs 6 groups at most.
/// Time grows with `chain_count`.
found_chains exact_chains(const grouped_multicast& g, const found_chains& at_least);

inline constexpr size_t max_exact_groups = 6;
/// Number of different chains that `exact_chains` examines for a source.
uint64_t chain_count(const grouped_multicast& g);

}  // namespace troupe
