// worker_statistics counts the work of an execution slot for metrics, and traces its batches on demand.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/tensor/ordered_batch.hpp"
#include "messages/tensor/traces.hpp"
#include "policies/common/ring.hpp"

namespace troupe {

class worker_statistics {
 public:
  void on_refused(const batch_order& o, refusal why, time_point now);
  /// A batch has left the device. `on_preempted` or `on_answered` follows.
  void on_ended(const batch_outcome& outcome, bool preempted);
  void on_preempted(const ordered_batch& b, const batch_outcome& outcome);
  /// The gateways of a batch were answered; `rows`: those without an error.
  void on_answered(const ordered_batch& b, uint32_t rows, const batch_outcome& outcome);

  uint64_t batches() const { return batches_; }
  uint64_t rows() const { return rows_; }
  duration busy() const { return busy_; }
  /// `orders`: running and waiting.
  void report(slot_id slot, size_t orders, std::vector<metric>& out) const;

  /// Records the newest `capacity` batches, from now on; an earlier trace is lost.
  void start_trace(size_t capacity) { traced_.emplace(capacity); }
  void stop_trace() { traced_.reset(); }
  /// The oldest batches recorded, `limit` at most. Nothing: no trace was started.
  std::optional<traced_batches> take_trace(size_t limit);

 private:
  void trace(const batch_order& o, uint32_t rows, refusal refused, const batch_times& times);

  uint64_t batches_ = 0, rows_ = 0;
  duration busy_{}, preempted_time_{};
  std::array<uint64_t, refusal_count> refusals_{};  // preempted batches too
  std::optional<ring<batch_trace>> traced_;         // while recording
};

}  // namespace troupe
