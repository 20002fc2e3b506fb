// Reader of the workload file: the load, faults and operator actions of `troupe simulate`.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "config/setting.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"

namespace troupe {

struct workload_reading {
  workload_spec spec;             ///< to be used only without problems
  setting_table effective;        ///< its values with their origins
  std::vector<problem> problems;  ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

/// Models and nodes are named as in `cluster`, which must have been read without problems.
workload_reading read_workload(const std::filesystem::path& file, const cluster_spec& cluster);
workload_reading read_workload_text(std::string_view text, const std::string& file,
                                    const cluster_spec& cluster);

}  // namespace troupe
