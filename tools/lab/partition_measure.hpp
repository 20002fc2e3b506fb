// The measure `partition` of experiments: partition_study.hpp with one configuration per seed and the methods
// as policies.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "tools/lab/measures.hpp"

namespace troupe::lab {

inline constexpr std::string_view partition_methods[]{"search", "random"};  // as in `method`

/// `policy` is one of `partition_methods`; the first seed is the first configuration.
sample measure_partition(const partition_setup& setup, std::string_view policy, uint64_t seed, bool quick);

/// Medians and extremes of the imbalances over all configurations, and their distributions as tables.
void summarise_partitions(const std::vector<sample>& samples, point& out);

}  // namespace troupe::lab
