// An experiment as data: scenarios, axes, the measure, the paper's claims and the plot. experiment_file.hpp
// reads one, experiment_runner.hpp runs it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/lab/partition_study.hpp"
#include "tools/lab/scenario.hpp"

namespace troupe::lab {

enum class measure : uint16_t {
  goodput,      ///< the highest rate that is served, and the metrics of that run
  load,         ///< the metrics of a run at a given rate
  fewest_gpus,  ///< the fewest GPUs that serve a given rate
  timeline,     ///< a changing load, step by step
  trace,        ///< every batch of a short run
  scheduler,    ///< requests a second through the actors in real time, as `troupe bench schedule` finds them
  partition,    ///< how evenly models are spread over sub-clusters, by the search and at random
  llm,          ///< the generation of tokens on engines of a language model
  latency,      ///< latency of a LoRA operator or of a model's step on this machine
  scaling,      ///< the time until a language model has more instances, and the bytes that it takes
  chain         ///< the time of weights over a multicast chain, hop by hop
};
inline constexpr std::string_view measure_names[]{"goodput", "load",      "fewest_gpus", "timeline",
                                                  "trace",   "scheduler", "partition",   "llm",
                                                  "latency", "scaling",   "chain"};
/// The metric of claims and plots that name none.
std::string_view main_metric(measure m);
/// Every metric that a point of the measure has.
std::vector<std::string_view> metrics_of(measure m);

/// Data of a run that is kept besides its metrics.
enum class curve : uint16_t { none, batches, queueing };
inline constexpr std::string_view curve_names[]{"none", "batches", "queueing"};

struct axis {
  std::string parameter;  ///< parameter.hpp
  std::vector<double> values;
  std::vector<double> quick;  ///< instead of `values` in a quick run
};

struct experiment_case {
  std::string name;
  scenario base;
  std::map<std::string, std::vector<double>> values;  ///< instead of the axis's; empty: the axis is left out
  bool quick = true;                                  ///< part of a quick run
};

/// Selects the points that match all given fields.
struct selector {
  std::optional<std::string> policy, case_name;
  std::map<std::string, double> at;  ///< by parameter
};

/// A sentence of the paper about its figure, as a bound on our metric.
struct claim {
  std::string text;
  std::string metric;
  selector of;
  std::optional<selector> over;  ///< if given, the ratio to these points counts; open fields as in `of`
  std::optional<double> at_least, at_most;
  double points = 1;       ///< the fraction of the points that must keep it
  bool quick = true;       ///< also holds, and is checked, in quick runs
  bool reproduced = true;  ///< false: known not to hold for our results
  std::string paper;       ///< the paper's own words: "2.0-2.4x"
  std::string because;     ///< why our results differ, if they do
};

struct paper_value {
  selector of;
  std::string metric;
  double value = 0;
};

/// The problem of the measure `partition`.
struct partition_setup {
  std::vector<zoo_model> zoo;
  partition_study_options study;
  double random_seconds = 10, quick_random_seconds = 0.5;  ///< time limit of random search
};

struct plot_spec {
  enum class kind : uint16_t {
    lines,     ///< a metric over an axis
    bars,      ///< a metric, a group of bars a case
    curves,    ///< the curves of runs
    sorted,    ///< a metric of all points in descending order
    timeline,  ///< the columns of a timeline, one below the other
    batches,   ///< every batch as a box on its GPU
    engines    ///< of the measure llm: requests, tokens and the batch of each engine over time
  };
  kind what = kind::lines;
  std::string x;               ///< lines: the parameter
  std::vector<std::string> y;  ///< metrics, one row of panels each
  std::string lines;           ///< "policy", or the parameter with a line for each of its values
  std::string x_label, y_label;
  std::vector<std::string> policies;  ///< empty: all
  bool log_x = false;
};
inline constexpr std::string_view plot_kinds[]{"lines",    "bars",    "curves", "sorted",
                                               "timeline", "batches", "engines"};

struct experiment {
  std::string name;  ///< the file's name
  std::string title;
  std::string reproduces;  ///< "Symphony, Figure 6a"
  std::string says;        ///< what the paper claims
  std::string differs;     ///< by how much our results differ, and why
  measure what = measure::goodput;
  curve keeps = curve::none;
  std::vector<std::string> policies;
  std::optional<std::string> shedding;     ///< overrides the policies' own
  std::optional<std::string> relative_to;  ///< a policy: `relative` is the main metric over this policy's
  std::vector<experiment_case> cases;
  std::vector<axis> axes;
  uint32_t sample = 0;  ///< number of combinations, chosen by `sample_seed`; 0: all
  uint32_t quick_sample = 0;
  uint64_t sample_seed = 1;
  std::optional<uint64_t> quick_requests;
  uint32_t quick_seeds = 1;
  std::optional<partition_setup> partition;
  std::vector<claim> claims;
  std::vector<paper_value> paper;
  std::optional<plot_spec> plot;
};

/// Whether a run of the experiment (quick: a quick run) has a point that the selector matches.
bool has_point(const experiment& e, const selector& s);

}  // namespace troupe::lab
