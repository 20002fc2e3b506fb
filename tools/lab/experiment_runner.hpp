// Runs an experiment: every point with every seed, on all cores.
#pragma once
#include <functional>

#include "tools/lab/goodput.hpp"
#include "tools/lab/results.hpp"

namespace troupe::lab {

struct run_options {
  bool quick = false;  ///< fewer values, requests and seeds
  bool full = false;   ///< all combinations, even if the experiment samples them
  engine run = nullptr;
  uint32_t threads = 1;
  std::optional<uint64_t> requests = {};  ///< overrides the experiment's, like the fields below
  std::optional<uint32_t> seeds = {};
  std::function<void(size_t done, size_t all)> progress = {};  ///< called from any thread, one at a time
};

/// The results, without `seconds`. They do not depend on the number of threads.
results run_experiment(const experiment& e, const run_options& options);

}  // namespace troupe::lab
