// Runs an experiment: every point with every seed, on all cores.
#pragma once
#include <functional>

#include "tools/lab/goodput.hpp"
#include "tools/lab/results.hpp"

namespace troupe::lab {

struct run_options {
  bool quick = false;  ///< fewer values, requests and seeds
  bool full = false;   ///< all combinations, also where the experiment takes a sample of them
  engine run = nullptr;
  uint32_t threads = 1;
  std::optional<uint64_t> requests = {};  ///< instead of the experiment's, as below
  std::optional<uint32_t> seeds = {};
  std::function<void(size_t done, size_t all)> progress = {};  ///< called from any thread, one at a time
};

/// The results without `seconds`. The same whatever the number of threads.
results run_experiment(const experiment& e, const run_options& options);

}  // namespace troupe::lab
