// order_queue holds the orders of an execution slot: the running batch at the front, and the waiting batches
// behind it. It pulls inputs as soon as an order arrives. A batch that is given up during its pulls stays in
// memory until they end, because they write into its buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "actors/runtime/peers_up.hpp"
#include "actors/tensor/ordered_batch.hpp"
#include "actors/tensor/slot_models.hpp"
#include "messages/tensor/scheduling.hpp"
#include "policies/batching/batch_run.hpp"

namespace troupe {

class order_queue {
 public:
  /// `memory` outlives it. `limit`: batches, the running one included.
  order_queue(memory_port& memory, size_t limit) : memory_(memory), limit_(limit) {}

  bool full() const { return batches_.size() >= limit_; }
  bool empty() const { return batches_.empty(); }
  size_t size() const { return batches_.size(); }
  const std::deque<ordered_batch>& batches() const { return batches_; }
  ordered_batch& front() { return batches_.front(); }
  const ordered_batch& front() const { return batches_.front(); }

  /// Takes an order and pulls its inputs; `pulled` goes to `self`. A request whose input has the wrong size
  /// or whose gateway is not up fails alone. False: there is no memory for the outputs; the order is as it
  /// was. Requires: not full.
  [[nodiscard]] bool take(batch_order& o, const slot_models::row_bytes& row, const peers_up& up,
                          const address& self, time_point now);
  void on_pulled(const pulled& ended, time_point now);

  /// Run of the front batch on the device. After its end the batch must be dropped or given up.
  batch_run& run() { return run_; }
  const batch_run& run() const { return run_; }

  /// Copies the outputs of a model with free dimensions, which `outcome` ended, to the node's memory. A part
  /// that finds no room gets an error in `outcome`.
  void keep_shaped_outputs(batch_outcome& outcome);
  /// Keeps its outputs.
  void drop_front() { batches_.pop_front(); }
  /// Gives its outputs back.
  void give_up_front() { give_up(0); }
  void release_outputs(const ordered_batch& b);
  /// Gives up the waiting batches for which `wanted(order)` holds, the last first.
  template <class If>
  void give_up_where(If&& wanted) {
    for (auto i = batches_.size(); i-- > first_waiting();)
      if (wanted(batches_[i].order)) give_up(i);
  }
  /// If an order waits that preempts and could start now: gives up the batches that wait before it, the last
  /// first, after `refuse(order)` for each. False: no such order waits. Orders that are late or have no valid
  /// input do not preempt.
  template <class Refuse>
  bool clear_way(time_point now, Refuse&& refuse) {
    const auto next = preempting(now);
    if (next == batches_.size()) return false;
    for (auto i = next; i-- > first_waiting();) {
      refuse(batches_[i].order);
      give_up(i);
    }
    return true;
  }
  /// For a new incarnation: gives up the waiting batches; a running batch becomes void.
  void start_over();

 private:
  size_t first_waiting() const { return run_.active() ? 1 : 0; }
  size_t preempting(time_point now) const;
  void give_up(size_t i);

  memory_port& memory_;
  const size_t limit_;
  batch_run run_;
  std::deque<ordered_batch> batches_;
  std::vector<ordered_batch> abandoned_;  ///< given up, with pulls in flight into their buffers
  uint64_t next_token_ = 1;
};

}  // namespace troupe
