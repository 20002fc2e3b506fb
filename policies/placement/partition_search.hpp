// Search for good partitions of models into sub-clusters: a greedy start, also from the current assignment if
// there is one, then iterated local search by moves and swaps. Random search is the baseline of Symphony's
// Appendix A.2.
#pragma once
#include <cstdint>
#include <functional>

#include "policies/placement/partition.hpp"

namespace troupe {

/// Length of a search. Without `should_stop` the result depends only on the problem, the seed and `steps`.
struct search_budget {
  /// Moves and swaps evaluated; for random search, partitions. 10 M steps take about a second for 800 models
  /// and 20 parts.
  uint64_t steps = 10'000'000;
  std::function<bool()> should_stop;  ///< called every few thousand steps; null: never
};

/// The start costs O(models · parts); the search then runs until the budget is spent or the objective is 0.
/// Throws as `impossible` does.
partition_result search_partition(const partition_problem& p, uint64_t seed,
                                  const search_budget& budget = {});

/// The best feasible one of uniformly random partitions; without a feasible one, that with the least excess.
partition_result random_partition(const partition_problem& p, uint64_t seed,
                                  const search_budget& budget = {});

}  // namespace troupe
