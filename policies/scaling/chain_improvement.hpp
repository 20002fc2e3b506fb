// Local search that improves the chains of a multicast.
#pragma once
#include <cstdint>

#include "policies/scaling/chain_search.hpp"

namespace troupe {

/// Puts groups that `found` does not reach on its chains where links allow that. Then, while the plan gets
/// better, moves a part of a chain to another place, and exchanges the ends of two chains, always the best of
/// these changes. Needs groups with one leader each. `hops` bounds the work: the number of hops that the
/// search computes.
found_chains improved_chains(const grouped_multicast& g, const found_chains& found, uint64_t hops);

}  // namespace troupe
