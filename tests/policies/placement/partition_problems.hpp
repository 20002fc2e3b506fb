// Seeded partition problems for tests.
#pragma once
#include <algorithm>
#include <cmath>

#include "policies/common/random.hpp"
#include "policies/placement/partition.hpp"

namespace troupe {

/// Exponential rates, parameters from 4 to 600 MB, most of them small.
inline partition_problem random_problem(uint64_t seed, size_t models, size_t parts) {
  random_stream random(seed, "problem");
  partition_problem p;
  for (size_t i = 0; i < models; ++i)
    p.models.push_back({"m" + std::to_string(i), -std::log(1 - random.uniform()) * 100,
                        4e6 + random.uniform() * random.uniform() * 6e8, random.uniform() * 1e8});
  p.parts.resize(parts);
  return p;
}

/// Limits with `slack` beyond each part's fair share that never exclude a single model.
inline void limit(partition_problem& p, double slack) {
  const fair_shares fair(p);
  double rate = 0, bytes = 0, dynamic = 0;
  for (const auto& m : p.models) {
    rate = std::max(rate, m.rate);
    bytes = std::max(bytes, m.static_bytes);
    dynamic = std::max(dynamic, m.dynamic_bytes);
  }
  for (size_t j = 0; j < p.parts.size(); ++j) {
    p.parts[j].max_rate = std::max(fair.rates[j] * (1 + slack), rate);
    p.parts[j].max_bytes = std::max(fair.bytes * (1 + slack), bytes) + dynamic;
  }
}

/// A random assignment is the current one; half of the models may move.
inline void place(partition_problem& p, uint64_t seed) {
  random_stream random(seed, "place");
  for (size_t i = 0; i < p.models.size(); ++i)
    p.current.push_back(static_cast<uint32_t>(random.below(p.parts.size())));
  p.max_cost = static_cast<double>(p.models.size() / 2 * 2);
}

}  // namespace troupe
