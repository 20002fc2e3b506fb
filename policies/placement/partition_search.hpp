// Finds good partitions of models into sub-clusters: first greedily, then by moves and swaps, from the
// current assignment if there is one. Random search is the baseline of Symphony's Appendix A.2.
#pragma once
#include <cstdint>
#include <functional>

#include "policies/placement/partition.hpp"

namespace troupe {

/// How long to search. Without `should_stop` the result depends on problem and seed only.
struct search_budget {
  /// Moves and swaps looked at; of random search partitions tried. 10 M: 800 models over 20 parts in about a
  /// second.
  uint64_t steps = 10'000'000;
  std::function<bool()> should_stop;  ///< asked every few thousand steps; null: never
};

/// O(models · parts) to begin with, then as long as the budget lasts or until nothing is left to improve.
/// Throws as `impossible` does.
partition_result search_partition(const partition_problem& p, uint64_t seed,
                                  const search_budget& budget = {});

/// The best of uniformly random partitions that keep to the limits.
partition_result random_partition(const partition_problem& p, uint64_t seed,
                                  const search_budget& budget = {});

}  // namespace troupe
