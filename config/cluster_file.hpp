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
#include "messages/cluster/cluster.hpp"

namespace troupe {

struct cluster_reading {
  cluster_spec spec;              ///< to be used only without problems
  setting_table effective;        ///< the same with the origin of every value
  std::vector<problem> problems;  ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

struct model_reading {
  model_spec spec;                ///< to be used only without problems
  setting_table effective;        ///< reads back to the same, wherever it is read
  std::vector<problem> problems;  ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

/// A model by itself, for a cluster that runs: `text` holds the keys of a [[model]] table and is checked like
/// one. Paths in it are relative to `directory`; if `below` is not empty, only files below it may be named.
model_reading read_model_text(std::string_view text, const std::string& file, const cluster_spec& cluster,
                              const std::filesystem::path& directory,
                              const std::filesystem::path& below = {});

/// The same keys from JSON, as TOML text; `name` is the model's if they give none. Throws std::runtime_error
/// with one sentence if it is no such thing.
std::string model_text_of_json(std::string_view json, const std::string& name);

/// Reads, fills in defaults and checks that the parts fit together, the files that it names included.
cluster_reading read_cluster(const std::filesystem::path& file);

/// The same for a text: `file` is its name for messages, paths in it are relative to `directory`.
cluster_reading read_cluster_text(std::string_view text, const std::string& file,
                                  const std::filesystem::path& directory);

}  // namespace troupe
