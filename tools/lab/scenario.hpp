// The scenario of an experiment: models, GPUs, arrivals, network, and the precision of the search. Policy,
// rate and seed are not part of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lab/chain_measure.hpp"
#include "tools/lab/latency_setup.hpp"
#include "tools/lab/llm_scenario.hpp"
#include "tools/lab/scaling_measure.hpp"
#include "tools/lab/trial.hpp"

namespace troupe::lab {

/// `copies` models of one kind.
struct model_group {
  std::string name;
  latency_model latency;
  duration slo{};
  /// Instead of `slo`: this factor times ℓ(rows).
  struct relative_slo {
    double times = 2;
    uint32_t rows = 1;
  };
  std::optional<relative_slo> slo_of;
  uint32_t copies = 1;
  double share = 1;  ///< of each copy
  uint32_t max_batch = 1024;
};

/// The bad rate that must stay low for a rate to count as served: of the worst model, or of all requests.
enum class criterion : uint16_t { worst, average };
inline constexpr std::string_view criterion_names[]{"worst", "average"};

struct search_effort {
  uint64_t requests = 200'000;  ///< per run, without those of the warm-up
  duration warm_up = 2s;
  uint32_t seeds = 4;
  uint64_t first_seed = 1;
  criterion whose = criterion::worst;
  double max_bad = 0.01;
  double precision = 0.002;  ///< of the rate
};

/// A changing load: every `step`, each model's rate takes the next value of its own day.
struct changing_load {
  duration step = 5s, length = 300s;
  double swing = 0.5;     ///< amplitude of the day, relative to the mean
  double noise = 0.15;    ///< standard deviation of the added noise, relative to the mean
  double rush_times = 1;  ///< factor on all models in the third quarter
  uint64_t seed = 1;
};

/// A time without any requests.
struct silence {
  duration at{}, length{};
};

struct scenario {
  std::vector<model_group> models;
  uint32_t gpus = 1;
  double gpus_per_model = 0;  ///< if not 0: instead of `gpus`
  arrival_kind arrivals = arrival_kind::poisson;
  double gamma_cv = 1;
  double zipf = 0;  ///< the i-th model has i^-zipf times its share
  network_delay network;
  duration response{};
  std::optional<double> rate_rps;         ///< for measures that do not search for a rate
  std::optional<double> timeout_percent;  ///< waiting time of `waiting_policies`, relative to the SLO
  std::optional<changing_load> load;
  std::optional<silence> pause;
  std::optional<llm_scenario> llm;       ///< instead of models, for the measure `llm`
  std::optional<latency_setup> latency;  ///< likewise `latency`
  std::optional<scaling_setup> scaling;  ///< likewise `scaling`
  std::optional<chain_setup> chain;      ///< likewise `chain`
  uint32_t cores = 0;                    ///< of this machine, for measures in real time; 0: all
  uint32_t domains = 1;  ///< for measures in real time: arbiters, each with its share of models and GPUs
  search_effort search;

  uint32_t model_count() const;
  uint32_t gpu_count() const;
};

/// Every copy of every model.
std::vector<served_model> served_models(const scenario& s);

inline constexpr uint32_t max_scenario_models = 4096, max_scenario_gpus = 1 << 20;  ///< limits of a scenario

/// Why the scenario cannot be served at any rate, or not be simulated: a batch of one row misses its SLO or
/// takes no time, or a size is over its limit. Empty: it can.
std::string impossible(const scenario& s);

/// Policies that wait for `scenario::timeout_percent`. `timeout` waits no longer than deadlines allow;
/// `plain_timeout` follows Symphony's §3.4 to the letter and sheds only late requests.
inline constexpr std::string_view waiting_policies[]{"timeout", "plain_timeout"};
bool is_waiting(std::string_view policy);

/// The scheduler for `policy`. None: an unknown policy, or a waiting policy without a waiting time.
std::optional<scheduling> scheduling_of(const scenario& s, const std::string& policy);

/// Runs long enough for `s.search.requests` after the warm-up.
trial trial_of(const scenario& s, const scheduling& how, double rate, uint64_t seed);

/// An upper bound of the rate in requests a second: the rate of GPUs with batches as large as the SLO allows
/// without any queueing.
double rate_bound(const scenario& s);

}  // namespace troupe::lab
