// Reader of the cluster file, which defines the nodes, models, policies and limits of a cluster.
// examples/quickstart/cluster.toml is a minimal one. `troupe config dump` prints every key of a file with its
// effective value.
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
  cluster_spec spec;                        ///< to be used only without problems
  setting_table effective;                  ///< its values with their origins
  std::vector<file_position> model_places;  ///< of each model's `source`
  std::vector<file_position> llm_places;    ///< of each language model's `model`
  std::vector<problem> problems;            ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

struct model_reading {
  model_spec spec;                ///< to be used only without problems
  setting_table effective;        ///< text that reads back to the same on any node
  std::vector<problem> problems;  ///< all of them, by place
  bool ok() const { return problems.empty(); }
};

/// A single model, for a running cluster. `text` holds the keys of a [[model]] table and is checked like one.
/// Paths in it are relative to `directory`; if `below` is not empty, only files below it are allowed.
model_reading read_model_text(std::string_view text, const std::string& file, const cluster_spec& cluster,
                              const std::filesystem::path& directory,
                              const std::filesystem::path& below = {});

/// Converts the same keys from JSON to TOML text; `name` is the default for the model's name. Throws
/// std::runtime_error with one sentence if the JSON has another form.
std::string model_text_of_json(std::string_view json, const std::string& name);

/// Reads a file, fills in defaults, and checks that its parts and the files it refers to are consistent.
cluster_reading read_cluster(const std::filesystem::path& file);

/// The same for a text. `file`: its name in messages; paths in it are relative to `directory`.
cluster_reading read_cluster_text(std::string_view text, const std::string& file,
                                  const std::filesystem::path& directory);

}  // namespace troupe
