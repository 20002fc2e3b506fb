#include "tools/bench/partition.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

double median_seconds(const std::vector<lab::partition_comparison>& study, lab::method m) {
  std::vector<double> all;
  for (const auto& c : study) all.push_back(m == lab::method::search ? c.search_seconds : c.random_seconds);
  return lab::summary(all).median;
}

nlohmann::ordered_json json_of(const lab::imbalance_summary& s) {
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}};
}

}  // namespace

int bench_partition(const bench_partition_options& options) {
  const auto zoo = lab::read_zoo(options.zoo);
  if (!zoo.problem.empty()) {
    report("troupe: {}", zoo.problem);
    return exit_bad_input;
  }
  std::vector<lab::partition_comparison> study;
  try {
    study = lab::study_partitions(zoo.models, options.study);
  } catch (const std::runtime_error& e) {
    report("troupe: {}", e.what());
    return exit_failed;
  }
  if (options.csv) {
    fmt::print("{}", lab::to_csv(study));
    return exit_done;
  }
  const auto& o = options.study;
  nlohmann::ordered_json document{
      {"models", o.models}, {"sub_clusters", o.parts}, {"configurations", o.configurations}};
  if (!options.json) {
    fmt::print("{} models over {} sub-clusters, {} configurations; imbalance: (max - min) / average\n",
               o.models, o.parts, o.configurations);
    fmt::print("{:<8} {:>9} {:>9} {:>9}  {:>9} {:>9} {:>9} {:>9}\n", "method", "rate min", "median", "max",
               "mem. min", "median", "max", "seconds");
  }
  for (const auto m : {lab::method::search, lab::method::random}) {
    const auto* name = m == lab::method::search ? "search" : "random";
    const auto rate = lab::summary(lab::imbalances(study, m, lab::imbalance::rate));
    const auto memory = lab::summary(lab::imbalances(study, m, lab::imbalance::memory));
    const auto seconds = median_seconds(study, m);
    document[name] = {{"rate_imbalance", json_of(rate)},
                      {"memory_imbalance", json_of(memory)},
                      {"median_seconds", seconds}};
    if (!options.json)
      fmt::print("{:<8} {:>9.5f} {:>9.5f} {:>9.5f}  {:>9.5f} {:>9.5f} {:>9.5f} {:>9.2f}\n", name, rate.min,
                 rate.median, rate.max, memory.min, memory.median, memory.max, seconds);
  }
  if (options.json) fmt::print("{}\n", document.dump(2));
  return exit_done;
}

}  // namespace troupe
