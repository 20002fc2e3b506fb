// Operator actions of a workload file. For workload_file.cpp only.
#pragma once
#include <filesystem>

#include "config/reader.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"

namespace troupe {

/// Reads [[deploy]], [[undeploy]], [[migrate]] and [[drain]] into `out.changes`; the loads of deployed models
/// go to the end of `out.models`.
void read_changes(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                  workload_spec& out);

}  // namespace troupe
