// Plans a multicast of weights (BlitzScale §4.1): group scale-up domains, prune sources that serve, then
// chains.
#pragma once
#include "policies/scaling/chain_search.hpp"
#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

/// The plan that finishes first: it reaches the most targets, then has the earliest latest finish, then the
/// least sum of finishes, then the first names. With more groups than `exact_groups` (6 at most), or too many
/// possible leaders of domains, the chains are greedy, then improved for half a millisecond. Throws as
/// `check` does.
multicast_plan plan_multicast(const multicast_problem& p, size_t exact_groups = max_exact_groups);

}  // namespace troupe
