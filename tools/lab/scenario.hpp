// What an experiment runs, as a file describes it: models, GPUs, arrivals, network, and how precisely to
// look. Which policy schedules it, at which rate and from which seed is not part of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lab/latency_setup.hpp"
#include "tools/lab/llm_scenario.hpp"
#include "tools/lab/trial.hpp"

namespace troupe::lab {

/// `copies` models of one kind.
struct model_group {
  std::string name;
  latency_model latency;
  duration slo{};
  /// Instead of `slo`: so many times ℓ(rows).
  struct relative_slo {
    double times = 2;
    uint32_t rows = 1;
  };
  std::optional<relative_slo> slo_of;
  uint32_t copies = 1;
  double share = 1;  ///< of each copy
  uint32_t max_batch = 1024;
};

/// Whose bad rate must stay low for a rate to count as served.
enum class criterion : uint16_t { worst, average };
inline constexpr std::string_view criterion_names[]{"worst", "average"};

struct search_effort {
  uint64_t requests = 200'000;  ///< a run, those of the warm-up not counted
  duration warm_up = 2s;
  uint32_t seeds = 4;
  uint64_t first_seed = 1;
  criterion whose = criterion::worst;
  double max_bad = 0.01;
  double precision = 0.002;  ///< of the rate
};

/// A load that changes: every `step`, each model's rate takes the next value of a day of its own.
struct changing_load {
  duration step = 5s, length = 300s;
  double swing = 0.5;     ///< how far the day takes a model above and below its mean
  double noise = 0.15;    ///< standard deviation of what is added at random, of the mean
  double rush_times = 1;  ///< all models, in the third quarter
  uint64_t seed = 1;
};

/// Nobody asks for anything.
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
  std::optional<double> rate_rps;         ///< for measures that do not search one
  std::optional<double> timeout_percent;  ///< what `waiting_policies` wait for, of the SLO
  std::optional<changing_load> load;
  std::optional<silence> pause;
  std::optional<llm_scenario> llm;       ///< instead of models, for the measure `llm`
  std::optional<latency_setup> latency;  ///< likewise `latency`
  uint32_t cores = 0;                    ///< of this machine, where real time counts; 0: all
  uint32_t domains = 1;                  ///< there: arbiters, each with its share of models and GPUs
  search_effort search;

  uint32_t model_count() const;
  uint32_t gpu_count() const;
};

/// Every copy of every model.
std::vector<served_model> served_models(const scenario& s);

inline constexpr uint32_t max_scenario_models = 4096, max_scenario_gpus = 1 << 20;  ///< of a scenario

/// Why the scenario cannot be served at any rate, or not be simulated: a batch of one row misses its SLO or
/// takes no time, or there is too much of something. Empty: it can.
std::string impossible(const scenario& s);

/// Policies that wait for `scenario::timeout_percent`: as long as deadlines allow, or, "plain_timeout", to
/// the letter of Symphony's §3.4, also in that nothing but what is late is shed.
inline constexpr std::string_view waiting_policies[]{"timeout", "plain_timeout"};
bool is_waiting(std::string_view policy);

/// The scheduler that `policy` means here. None: no such policy, or one that does not know how long to wait.
std::optional<scheduling> scheduling_of(const scenario& s, const std::string& policy);

/// Runs long enough for `s.search.requests` after the warm-up.
trial trial_of(const scenario& s, const scheduling& how, double rate, uint64_t seed);

/// More requests a second than GPUs could serve even if every batch were as large as its SLO allows when
/// requests wait for nothing.
double rate_bound(const scenario& s);

}  // namespace troupe::lab
