// Ledger of a gateway: counts of accepted requests and their outcomes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/tensor/request.hpp"

namespace troupe {

/// Every accepted request ends in exactly one of the other entries.
struct outcome_counts {
  uint64_t accepted = 0;
  uint64_t finished = 0;
  std::array<uint64_t, drop_reason_count> dropped{};
  std::array<uint64_t, failure_count> failed{};

  uint64_t total_dropped() const;
  uint64_t total_failed() const;
  /// Accepted = finished + dropped + failed + in flight, where `in_flight` was counted independently.
  bool balanced(uint64_t in_flight) const;

  outcome_counts& operator+=(const outcome_counts& other);
  bool operator==(const outcome_counts&) const = default;
};

/// Counts by model. The gateway ensures that no request has two outcomes.
class ledger {
 public:
  void accept(model_id model) { ++of(model).accepted; }
  void finish(model_id model) { ++of(model).finished; }
  void drop(model_id model, drop_reason reason) { ++of(model).dropped[static_cast<size_t>(reason)]; }
  void fail(model_id model, failure why) { ++of(model).failed[static_cast<size_t>(why)]; }

  /// By model id, up to the largest that occurred.
  std::span<const outcome_counts> by_model() const { return models_; }
  outcome_counts total() const;
  bool balanced(uint64_t in_flight) const { return total().balanced(in_flight); }

 private:
  outcome_counts& of(model_id model) {
    if (model.value >= models_.size()) models_.resize(model.value + 1);
    return models_[model.value];
  }

  std::vector<outcome_counts> models_;
};

}  // namespace troupe
