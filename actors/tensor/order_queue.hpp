// Orders of an execution slot: the batch that runs, at the front, and the batches that wait behind it.
//
// Inputs are pulled as soon as an order comes. A batch that is given up while pulls are under way stays in
// memory until they have ended, for they write into its buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "actors/tensor/slot_models.hpp"
#include "gpu/device/device.hpp"
#include "messages/tensor/scheduling.hpp"

namespace troupe {

struct ordered_batch {
  struct part {
    std::vector<std::byte> pulled;     // whole slot, with the words around the payload
    std::span<const std::byte> input;  // within `pulled`, once verified
    offer output;
    failure error = failure::none;
    bool arrived = true;  // no pull is under way
  };
  batch_order order;
  uint64_t token = 0;       ///< of the pull of its first part; the next parts' follow
  std::vector<part> parts;  ///< by request of the order
  size_t missing = 0;       ///< parts whose pull is under way
  time_point received_at = never, inputs_at = never;

  /// Rows of the parts without an error.
  uint32_t rows() const;
  /// The parts without an error, for the device. Spans point into this batch, which stays where it is.
  batch_work work() const;
  bool has_input() const;  ///< of any part
};

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
  /// fails alone. False: there is no memory for the outputs; the order is as it was. Requires: not full.
  [[nodiscard]] bool take(batch_order& o, const slot_models::row_bytes& row, const address& self,
                          time_point now);
  void on_pulled(const pulled& ended, time_point now);

  // the front on the device
  bool running() const { return running_; }
  bool stopping() const { return stopping_; }
  bool is_void() const { return void_; }  ///< it runs for an earlier incarnation
  void start() { running_ = true; }
  void stop() { stopping_ = true; }
  /// The device has ended the front batch, which is to be dropped or given up now. Returns whether it is
  /// void.
  bool finish();

  /// Without touching its outputs.
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
  /// For an order that preempts, and could start now: gives up the batches that wait before it, the last
  /// first, after `refuse(order)` for each. False: no such order waits. One without inputs, or that comes too
  /// late, preempts nobody.
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
  /// Of a new incarnation: nothing waits any more; a batch that runs is void.
  void start_over();

 private:
  size_t first_waiting() const { return running_ ? 1 : 0; }
  size_t preempting(time_point now) const;
  void give_up(size_t i);

  memory_port& memory_;
  const size_t limit_;
  bool running_ = false, stopping_ = false, void_ = false;
  std::deque<ordered_batch> batches_;
  std::vector<ordered_batch> abandoned_;  // given up, with pulls under way into their buffers
  uint64_t next_token_ = 1;
};

}  // namespace troupe
