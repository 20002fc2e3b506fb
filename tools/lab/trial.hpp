// One run of a scheduler on emulated GPUs in virtual time: its setup and its results.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/tensor/latency.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/latency_histogram.hpp"
#include "policies/registry/scheduling.hpp"

namespace troupe::lab {

struct served_model {
  std::string name;
  latency_model latency;
  duration slo{};
  double share = 1;  ///< of all requests, in proportion to the other models' shares
  uint32_t max_rows = 1024;
};

/// From `at` on, model i gets `scale[i]` times its share of `trial::rate`.
struct load_change {
  duration at{};
  std::vector<double> scale;
};

struct trial {
  std::vector<served_model> models;
  uint32_t slots = 1;
  scheduling how;
  arrival_kind arrivals = arrival_kind::poisson;
  double gamma_cv = 1;               ///< as in `arrival_spec`
  network_delay network;             ///< decision → inputs on the GPU
  duration response{};               ///< end of a batch → answers
  double rate = 1;                   ///< requests a second, of all models
  std::vector<load_change> changes;  ///< by time
  duration warm_up = 5s;             ///< not measured
  duration length = 60s;             ///< when the last requests arrive, warm-up included
  uint64_t seed = 1;
};

struct model_result {
  uint64_t offered = 0, good = 0;  ///< requests that arrived in the measured time; good: within their SLO
  double bad_rate() const {
    return offered == 0 ? 0 : 1 - static_cast<double>(good) / static_cast<double>(offered);
  }
};

struct trial_result {
  std::vector<model_result> models;
  std::vector<uint64_t> batches;  ///< [rows]: batches of this size that started in the measured time
  latency_histogram queueing;     ///< arrival → start of the batch that served it, of good requests
  std::vector<duration> busy;     ///< by slot, in the measured time
  duration measured{};
  uint64_t preempted = 0;  ///< batches that were stopped for larger ones
  uint64_t requests = 0;   ///< of the whole run

  double bad_rate() const;        ///< of all requests together
  double worst_bad_rate() const;  ///< of the model with the highest bad rate
  double goodput() const;         ///< good requests a second
  double mean_batch() const;
  double busy_share() const;  ///< of all slots' time, 0–1
};

/// Observer of a run. Times count from its beginning.
class trial_watch {
 public:
  struct batch {
    uint32_t model, slot, rows;
    duration granted, started, ends;
  };
  struct loss {
    uint32_t model;
    duration arrived, given_up;
  };
  virtual ~trial_watch() = default;
  virtual void on_batch(const batch&) {}
  /// A batch was preempted by a larger one at `ends`; `on_batch` has reported its planned end.
  virtual void on_stopped(const batch&) {}
  virtual void on_loss(const loss&) {}
};

/// The policies in a bare event loop, without actors (direct_engine.cpp).
trial_result run_direct(const trial& t, trial_watch* watch = nullptr);

/// The same cluster with its actors, as in `troupe simulate` (actor_engine.cpp). It takes the same decisions.
trial_result run_actors(const trial& t, trial_watch* watch = nullptr);

}  // namespace troupe::lab
