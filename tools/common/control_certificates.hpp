// The certificate of a process on the control lane, and its checks.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

/// For the control lane of `name`, a node or `operator_name`; null if the cluster has no certificates. Throws
/// std::runtime_error, one sentence that names the file, if they are not usable. `host`: a name that the
/// certificate must contain; empty: any.
std::shared_ptr<const tls_context> control_certificates(const cluster_spec& cluster, const std::string& name,
                                                        const std::string& host);

/// The problems of the files in the cluster's certificate folder, a sentence each. A node's files may be
/// missing as long as some are there: each host needs only those of its own nodes.
std::vector<std::string> certificate_problems(const cluster_spec& cluster);

}  // namespace troupe
