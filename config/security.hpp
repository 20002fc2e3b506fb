// Keys and addresses of the cluster file, beyond reading them: what is also asked when it has been read.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct key_reading {
  key_digest digest{};
  std::string error;  ///< one sentence that names the file; empty: the key was read
};

/// A key file: one key, white space at its end does not count.
key_reading read_key_file(const std::string& path);

/// Reads all key files again. What is wrong, a sentence each; then nothing is changed.
std::vector<std::string> refresh_keys(cluster_spec& cluster);

/// What the cluster file allows, but an operator should know: a sentence each. Of one node, or of all.
std::vector<std::string> security_warnings(const cluster_spec& cluster, std::optional<node_id> only = {});

}  // namespace troupe
