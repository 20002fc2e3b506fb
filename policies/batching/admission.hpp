// Admission to a model queue: the bound on the rows that may wait in it.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"
#include "policies/common/rate_meter.hpp"
#include "policies/common/recent_max.hpp"

namespace troupe {

/// Without a bound, a queue in overload drops requests only after they have waited. Therefore, while more
/// than one row in twenty is lost, the queue holds at most the rows that leave it, at the rate of the last
/// two seconds, within the patience of a new request (Little's law), less one batch, because rows leave a
/// batch at a time. Requests beyond the bound are dropped at once. The rate is measured, so it reflects slots
/// that are shared with other models. A bounded queue does not run dry, so the measured rate stays the
/// throughput of the slots.
class admission {
 public:
  admission() = default;
  /// `queues`: of the same model, one for each of its shapes, which share the slots; at least 1.
  explicit admission(uint32_t queues) : queues_(queues) {}

  /// Rows left the queue in a batch.
  void served(time_point now, uint32_t rows);
  /// Rows were dropped, at admission or after they had waited.
  void lost(time_point now, uint32_t rows) { lost_.count(now, rows); }
  /// What was measured is void.
  void forget() { *this = admission(queues_); }

  /// Returns how many rows may wait. `patience`: time within which the batch of a new request must have left.
  /// `batch`: rows of a usual batch. At least `slots + 1` such batches may always wait, so that the slots
  /// stay busy. A queue among several has its part of them, and one batch of the largest recent size at
  /// least.
  uint32_t bound(time_point now, duration patience, uint32_t batch, uint32_t slots);

 private:
  static constexpr duration bucket = 100ms;
  static constexpr uint32_t buckets = 20;
  static constexpr double tolerated = 0.05;

  uint32_t queues_ = 1;
  rate_meter served_{bucket, buckets}, lost_{bucket, buckets};
  recent_max largest_{bucket * buckets / 2};  // rows of a batch
  uint32_t bound_ = ~0u;
  time_point bound_until_ = long_ago;
};

}  // namespace troupe
