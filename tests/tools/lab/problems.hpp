// An experiment file, and the problems that the readers of the laboratory find in such files.
#pragma once
#include <string>
#include <vector>

#include "tools/lab/experiment_file.hpp"

namespace troupe::lab {

inline const std::string plain_experiment = R"(gpus = 4
[[model]]
name = "m"
alpha_ms = 1
beta_ms = 5
slo_ms = 25
[experiment]
title = "small"
policies = ["deferred", "eager"]
)";

/// One a line, without the file's name.
inline std::string listed(const std::vector<problem>& problems) {
  std::string out;
  for (const auto& p : problems) {
    if (!out.empty()) out += '\n';
    out += to_string(p).substr(p.where.file.size() + 1);
  }
  return out;
}

inline std::string experiment_problems(const std::string& text) {
  return listed(read_experiment_text(text, "e.toml").problems);
}

}  // namespace troupe::lab
