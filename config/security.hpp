// Key files and security warnings of a cluster file, also used after it has been read.
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

/// Reads a key file: one key; trailing white space is ignored.
key_reading read_key_file(const std::string& path);

/// Reads all key files again. Returns the problems, a sentence each; then nothing is changed.
std::vector<std::string> refresh_keys(cluster_spec& cluster);

/// Settings that are allowed but risky, a sentence each; of one node, or of all.
std::vector<std::string> security_warnings(const cluster_spec& cluster, std::optional<node_id> only = {});

}  // namespace troupe
