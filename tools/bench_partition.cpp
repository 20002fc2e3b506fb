#include "tools/bench_partition.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace troupe {
namespace {

using namespace lab;

double median_seconds(const std::vector<partition_comparison>& study, method m) {
  std::vector<double> all;
  for (const auto& c : study) all.push_back(m == method::search ? c.search_seconds : c.random_seconds);
  return summary(all).median;
}

nlohmann::ordered_json json_of(const imbalance_summary& s) {
  return {{"least", s.least}, {"median", s.median}, {"largest", s.largest}};
}

}  // namespace

int bench_partition(const bench_partition_options& options) {
  const auto zoo = read_zoo(options.zoo);
  if (!zoo.problem.empty()) {
    fmt::print(stderr, "troupe: {}\n", zoo.problem);
    return 2;
  }
  std::vector<partition_comparison> study;
  try {
    study = study_partitions(zoo.models, options.study);
  } catch (const std::runtime_error& e) {
    fmt::print(stderr, "troupe: {}\n", e.what());
    return 1;
  }
  if (options.csv) {
    fmt::print("{}", to_csv(study));
    return 0;
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
  for (const auto m : {method::search, method::random}) {
    const auto* name = m == method::search ? "search" : "random";
    const auto rate = summary(imbalances(study, m, imbalance::rate));
    const auto memory = summary(imbalances(study, m, imbalance::memory));
    const auto seconds = median_seconds(study, m);
    document[name] = {{"rate_imbalance", json_of(rate)},
                      {"memory_imbalance", json_of(memory)},
                      {"median_seconds", seconds}};
    if (!options.json)
      fmt::print("{:<8} {:>9.5f} {:>9.5f} {:>9.5f}  {:>9.5f} {:>9.5f} {:>9.5f} {:>9.2f}\n", name, rate.least,
                 rate.median, rate.largest, memory.least, memory.median, memory.largest, seconds);
  }
  if (options.json) fmt::print("{}\n", document.dump(2));
  return 0;
}

}  // namespace troupe
