// The engines of models with `engine = "auto"`, decided by their files before any node loads them. All nodes
// of a cluster then run a model by the same engine, so that a request that is tried again elsewhere has the
// same answer.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Sets `decided_engine` of a model that CPUs of the cluster may run. Returns the reason if the file is no
/// model, else nothing.
std::string decide_engine(model_spec& m, const cluster_spec& cluster);

/// For the models of the cluster file, on a node with devices and on one that may lead. Nodes compare the
/// results when they meet (policies/cluster/hello_check.hpp). A file that is no model stays undecided: the
/// nodes that load it say why.
void decide_engines(cluster_spec& cluster, node_id self);

}  // namespace troupe
