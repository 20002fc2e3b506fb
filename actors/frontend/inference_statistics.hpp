// inference_statistics counts a gateway's requests and the time of their steps, by model and by batch size,
// for the statistics extension of KServe V2. The gateway writes it, HTTP threads read it. Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "actors/tensor/gateway.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct timed_count {
  uint64_t count = 0;
  duration total{};
  void add(duration d);  ///< negative, by the clocks of two nodes: counts as 0
  bool operator==(const timed_count&) const = default;
};

struct model_statistics {
  /// Parts of a request's time: waiting for the batch and for the device; transfer of the inputs; execution;
  /// transfer of the output.
  struct steps {
    timed_count queue, compute_input, compute_infer, compute_output;
  };
  time_point last_inference = never;
  uint64_t inferences = 0;  ///< rows of requests that were answered
  uint64_t executions = 0;  ///< batches
  timed_count success, fail;
  steps requests;                     ///< of successful requests
  std::map<uint32_t, steps> batches;  ///< by rows: each batch once, but compute_output for each request
};

class inference_statistics {
 public:
  /// A batch with requests of this gateway ran.
  void executed(model_id model, uint32_t rows, const batch_times& times);
  /// A request of `rows` rows has its outcome.
  void answered(model_id model, uint32_t rows, const outcome& how);

  model_statistics of(model_id model) const;

 private:
  model_statistics& at(model_id model);

  mutable std::mutex mutex_;
  std::vector<model_statistics> models_;  // by id
};

}  // namespace troupe
