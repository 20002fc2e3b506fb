// Model queues and their arbiter alone: in virtual time, without threads, and without any delay.
#pragma once
#include <cstdint>
#include <memory>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

struct bare_scheduler_options {
  uint32_t models = 10, gpus = 1024;
  latency_model latency{1082us, 5204us};  ///< of every model
  duration slo = 100ms;
  std::string batching = "deferred";
  double requests_per_second = 0.8e6;  ///< total of all models, an independent Poisson stream each
  uint32_t decision_log = 0;           ///< remembered requests a model
};

/// The actors of a cluster's scheduler. Its clients and GPUs do only the minimum.
class bare_scheduler {
 public:
  explicit bare_scheduler(const bare_scheduler_options& o);
  ~bare_scheduler();

  /// Advances virtual time.
  void run(duration time);

  uint64_t requests() const;  ///< sent so far
  uint64_t batches() const;   ///< ended so far
  uint64_t dropped() const;   ///< requests

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

/// CPU time of the scheduler in nanoseconds a request: the minimum of several runs, because other work on the
/// machine adds to it. Takes about two seconds.
struct scheduler_cost {
  double ns = 0;         ///< without a decision log
  double logged_ns = 0;  ///< with a decision log as large as in the options
};
scheduler_cost cost_of_scheduling(bare_scheduler_options o);

}  // namespace troupe
