// The cluster file: what runs where, which models it serves, how and within which bounds.
// examples/quickstart/cluster.toml is a first one; `troupe config dump` prints every key of a file and what
// it came to mean.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "config/setting.hpp"
#include "messages/cluster.hpp"

namespace troupe {

struct cluster_reading {
  cluster_spec spec;              ///< to be used only without problems
  setting_table effective;        ///< the same with the origin of every value
  std::vector<problem> problems;  ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

/// Reads, fills in defaults and checks that the parts fit together, the files that it names included.
cluster_reading read_cluster(const std::filesystem::path& file);

/// The same for a text: `file` is its name for messages, paths in it are relative to `directory`.
cluster_reading read_cluster_text(std::string_view text, const std::string& file,
                                  const std::filesystem::path& directory);

}  // namespace troupe
