// Which certificate a process shows on the control lane, and whether it will do.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

/// For the control lane of `name`, a node or `operator_name`; null if the cluster has no certificates. Throws
/// std::runtime_error, one sentence that names the file, if they cannot be used. `host`: what the
/// certificate must name; any if empty.
std::shared_ptr<const tls_context> control_certificates(const cluster_spec& cluster, const std::string& name,
                                                        const std::string& host);

/// What is wrong with the files in the cluster's certificate folder, a sentence each. A node whose files are
/// not here is fine as long as some are: each host needs only those of its own nodes.
std::vector<std::string> certificate_problems(const cluster_spec& cluster);

}  // namespace troupe
