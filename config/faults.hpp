// Faults and clocks of a workload file. For workload_file.cpp only.
#pragma once
#include <vector>

#include "config/reader.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"

namespace troupe {

std::vector<fault_spec> read_faults(section& root, const cluster_spec& cluster, duration length);
random_fault_spec read_random_faults(section& root);
clock_spec read_clocks(section& root);

}  // namespace troupe
