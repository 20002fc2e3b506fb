// The finished requests of a gateway, counted by model: how many were in time, and their latencies.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

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
  /// Allocates at a model's first request.
  void finish(model_id model, duration latency, bool in_time);
  /// The model's name is no longer known: its statistics become part of those of all forgotten models, which
  /// share one name.
  void forget(model_id model);

  /// The sums by name. Several ids can have one name: a model that is replaced under its name gets a new id.
  /// `names` and `counts` are by id; ids beyond the end of `counts` have no outcomes.
  std::map<std::string, outcome_summary> by_name(std::span<const std::string> names,
                                                 std::span<const outcome_counts> counts) const;

 private:
  struct finished {
    latency_histogram latency;
    uint64_t in_time = 0;
  };
  std::unordered_map<model_id, finished> models_;
  std::optional<model_id> forgotten_;  ///< has the statistics of all forgotten models
};

}  // namespace troupe
