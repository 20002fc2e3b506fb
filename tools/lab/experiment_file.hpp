// Reads experiment files: a scenario (scenario_file.hpp) with [experiment], [[axis]], [[case]], [[claim]],
// [[paper]] and [plot].
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "tools/lab/experiment.hpp"

namespace troupe::lab {

struct experiment_reading {
  experiment spec;                ///< valid only without problems
  std::vector<problem> problems;  ///< all of them, in file order
  bool ok() const { return problems.empty(); }
};

experiment_reading read_experiment(const std::filesystem::path& file);
experiment_reading read_experiment_text(std::string_view text, const std::string& file);

}  // namespace troupe::lab
