// The model for `troupe deploy`: keys of a [[model]] table, from a file, from flags, or both.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "config/cluster_file.hpp"

namespace troupe {

struct model_options {
  std::string file;                                       ///< empty: no file
  std::vector<std::pair<std::string, std::string>> keys;  ///< of flags: key, TOML value
};

/// The flag of a key: "--slo-ms" of "slo_ms".
std::string flag_of(std::string key);

/// All keys as one table, checked like one of the cluster file; a key may be given once. Paths are relative
/// to the file, without one to the working directory. Problems have their position in the file; those of
/// flags have "troupe" instead.
model_reading read_model(const model_options& options, const cluster_spec& cluster);

}  // namespace troupe
