// `troupe experiment`: lists, runs and plots experiments from files, such as those of the Symphony and Punica
// papers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct experiment_options {
  std::vector<std::string> names;  ///< of files in the folder, or paths
  std::string folder;              ///< empty: examples/experiments, here or where Troupe is installed
  std::string output = "experiment-results";
  bool all = false;
  bool quick = false;
  bool full = false;
  std::string engine = "direct";
  std::optional<uint64_t> requests;
  std::optional<uint32_t> seeds;
  uint32_t jobs = 0;  ///< 0: all cores
  bool no_plot = false;
  bool json = false;
};

/// Prints the experiments of the folder, or {experiments: [{name, title, reproduces, measure, policies,
/// claims}]}. Returns 0, or 2 if a file has problems.
int list_experiments(const experiment_options& options);

/// Runs experiments one after the other, writes their results (tools/lab/results_file.hpp) and plots, and
/// prints the points and the verdict on each claim, or {experiments: [{experiment, seconds, files, claims,
/// holds, points}]}. Returns 0, 1 if a claim does not hold or a file cannot be written, 2 for an unknown name
/// or a file with problems.
int run_experiments(const experiment_options& options);

/// Draws saved results. Returns 0, 1 if it cannot, 2 as above.
int plot_experiments(const experiment_options& options);

}  // namespace troupe
