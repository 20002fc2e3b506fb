// The partition of models into sub-clusters as the mixed integer linear programme of Symphony's Appendix A.1,
// solved by CBC: for small problems, and for the distance of the search
// (policies/placement/partition_search.hpp) from the optimum. At 800 models and 20 parts CBC improves nothing
// that the search has found.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/time.hpp"
#include "policies/placement/partition.hpp"

namespace troupe {

struct milp_budget {
  /// Time limit. CBC reads the clock, so only runs that end before the limit are reproducible.
  duration time = 10s;
  int64_t nodes = 1'000'000'000;  ///< of the branch-and-bound tree
};

struct milp_result {
  partition_result best;   ///< `steps` are nodes of the tree; its problem says if nothing feasible was found
  bool proven = false;     ///< `best` is optimal, to within 1e-6, or the problem has no feasible partition
  double lower_bound = 0;  ///< no feasible partition has an objective below it
};

/// `start`: a feasible assignment to begin with; one that is not, or empty: none. Throws as `impossible`
/// does. Any number may be solved at a time, each in its thread.
milp_result solve_partition(const partition_problem& p, const std::vector<uint32_t>& start = {},
                            const milp_budget& budget = {});

}  // namespace troupe
