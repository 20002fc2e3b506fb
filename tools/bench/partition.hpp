// `troupe bench partition`: the search for a balanced partition of models into sub-clusters, against random
// search in about the same time (Symphony, Figure 16).
#pragma once
#include <string>

#include "tools/lab/partition_study.hpp"

namespace troupe {

struct bench_partition_options {
  std::string zoo;  ///< CSV file with the sizes of the models
  lab::partition_study_options study;
  bool json = false;
  bool csv = false;  ///< print every configuration
};

int bench_partition(const bench_partition_options& options);

}  // namespace troupe
