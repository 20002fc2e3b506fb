// Model queues and their arbiter by themselves: in virtual time, without threads, and nothing is ever late.
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
  double requests_per_second = 0.8e6;  ///< of all models together, a Poisson stream each
  uint32_t decision_log = 0;           ///< requests a model
};

/// The actors of a cluster's scheduler; their clients and GPUs are no more than what these need to go on.
class bare_scheduler {
 public:
  explicit bare_scheduler(const bare_scheduler_options& o);
  ~bare_scheduler();

  /// Lets so much time pass.
  void run(duration time);

  uint64_t requests() const;  ///< that were sent
  uint64_t batches() const;   ///< that ended
  uint64_t dropped() const;   ///< requests

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

/// What the scheduler takes of a CPU, in nanoseconds a request: the least of some runs, as whatever else a
/// machine does adds to them. Takes about two seconds.
struct scheduler_cost {
  double ns = 0;         ///< without a decision log
  double logged_ns = 0;  ///< with one of so many requests as the options say
};
scheduler_cost cost_of_scheduling(bare_scheduler_options o);

}  // namespace troupe
