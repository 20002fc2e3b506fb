// The finished requests of a gateway, counted by model: how many were in time, and their latencies.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "policies/common/latency_histogram.hpp"
#include "policies/common/ledger.hpp"

namespace troupe {

struct outcome_summary {
  outcome_counts outcomes;
  uint64_t in_time = 0;       ///< finished by their deadlines
  latency_histogram latency;  ///< of finished requests, from arrival to outcome
};

class outcome_statistics {
 public:
  /// `models`: number of ids with memory from the start; others get it with their first request.
  explicit outcome_statistics(size_t models = 0) : models_(models) {}

  void finish(model_id model, duration latency, bool in_time);
  /// Makes room for this model.
  void reserve(model_id model) {
    if (model.value >= models_.size()) models_.resize(model.value + 1);
  }

  /// The sums by name. Several ids can have one name: a model that is replaced under its name gets a new id.
  /// `names` and `counts` are by id; ids beyond the end of `counts` have no outcomes.
  std::map<std::string, outcome_summary> by_name(std::span<const std::string> names,
                                                 std::span<const outcome_counts> counts) const;

 private:
  struct finished {
    latency_histogram latency;
    uint64_t in_time = 0;
  };
  std::vector<finished> models_;  // by id
};

}  // namespace troupe
