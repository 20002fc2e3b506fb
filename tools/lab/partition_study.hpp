// Compares the search for a balanced partition of models into sub-clusters with random search: Figure 16 of
// Symphony's Appendix A.2. Except for times, the same options give the same study.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "policies/placement/partition.hpp"

namespace troupe::lab {

struct zoo_model {
  std::string name;
  double parameter_bytes = 0;  ///< as float32
};
/// A CSV file: `model,million_parameters` in the first line, then one model a line. `problem` names file and
/// line; it is empty if there is none.
struct zoo_reading {
  std::vector<zoo_model> models;
  std::string problem;
};
zoo_reading read_zoo(const std::filesystem::path& file);
zoo_reading read_zoo_text(const std::string& csv, const std::string& file);

struct partition_study_options {
  uint32_t models = 800;
  uint32_t parts = 20;
  uint32_t configurations = 20;
  uint64_t seed = 1;
  uint64_t steps = 10'000'000;     ///< of the search: about a second
  uint64_t random_tries = 50'000;  ///< of random search: about a second
  double random_seconds = 0;     ///< if not 0: instead of `random_tries`; the study is then not reproducible
  double device_bytes = 11e9;    ///< S_max: a GTX 1080 Ti's
  double dynamic_bytes = 500e6;  ///< assumed for every model: the paper gives no number
};

/// One configuration: every model a random one of the zoo, with an exponential rate of mean 1.
partition_problem study_problem(const std::vector<zoo_model>& zoo, const partition_study_options& o,
                                uint32_t configuration);

enum class method { search, random };
struct timed_partition {
  partition_result found;
  double seconds = 0;
};
/// Throws std::runtime_error if no partition satisfies the limits.
timed_partition partition_once(const std::vector<zoo_model>& zoo, const partition_study_options& o,
                               uint32_t configuration, method m);

struct partition_comparison {
  partition_result searched, random;
  double search_seconds = 0, random_seconds = 0;
};
/// By configuration.
std::vector<partition_comparison> study_partitions(const std::vector<zoo_model>& zoo,
                                                   const partition_study_options& o);

/// Summary over all configurations, for Figure 16: two imbalances of two methods.
struct imbalance_summary {
  double min = 0, median = 0, max = 0;
};
enum class imbalance { rate, memory };
std::vector<double> imbalances(const std::vector<partition_comparison>& study, method m, imbalance of);
imbalance_summary summary(std::vector<double> values);  ///< not empty

/// One line for each configuration:
/// `configuration,method,rate_imbalance,memory_imbalance,objective,steps,seconds`.
std::string to_csv(const std::vector<partition_comparison>& study);

}  // namespace troupe::lab
