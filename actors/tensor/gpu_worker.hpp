// gpu_worker runs the batches of one execution slot. It pulls the inputs of a batch while the previous batch
// runs, and offers the outputs to the gateways. Batches run in the order of their orders, each as soon as its
// inputs are there and the device is free: a batch is final, and waiting for its planned start gains nothing.
// Orders of an old term and orders that come too late are refused.
//
// An order that preempts stops the running batch once its own inputs are there. Only the queue and the
// arbiter get a message about a stopped batch.
//
// The loss of the device ends the process: the worker throws (actors/runtime/supervision.hpp).
//
// When the leader changes, the worker drops the waiting batches and hands over the running one: it reports
// the batch to the new leader now, and its end later.
#pragma once
#include <string_view>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "actors/runtime/peers_up.hpp"
#include "actors/tensor/offered_outputs.hpp"
#include "actors/tensor/order_authority.hpp"
#include "actors/tensor/order_queue.hpp"
#include "actors/tensor/slot_models.hpp"
#include "actors/tensor/worker_statistics.hpp"
#include "gpu/device/device.hpp"
#include "messages/tensor/commands.hpp"
#include "policies/batching/batch_history.hpp"

namespace troupe {

class gpu_worker final : public actor {
 public:
  struct options {
    slot_id slot;
    uint32_t domain = 0;    ///< scheduling domain
    size_t max_orders = 4;  ///< running and waiting; the arbiter uses two
  };

  /// A `slot_ready` names the models that `runs` has loaded. `runs` and `memory` outlive the actor.
  gpu_worker(address self, outbox& out, const options& o, device& runs, memory_port& memory);
  ~gpu_worker() override;

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;
  size_t unfinished() const override;

 private:
  void on_order(batch_order& o, time_point now);
  void on_change(const deployment& line, time_point now);
  void on_node_up(const node_up& u);
  void on_node_down(const node_down& d);
  void on_leadership(const leadership& latest);
  void on_new_incarnation();
  void hand_over();

  bool start(time_point now);
  void finish(time_point now);
  void preempt_for_waiting(time_point now);
  void answer(ordered_batch& b, const batch_outcome& outcome);
  void answer_preempted(const ordered_batch& b, const batch_outcome& outcome);
  void refuse(const batch_order& o, refusal why, time_point now);
  void send_batch_done(const batch_order& o, const batch_done& d);
  void unload_leaving_models();
  worker_state describe(time_point now) const;

  const options options_;
  device& device_;
  memory_port& memory_;
  slot_models models_;
  order_authority authority_;
  order_queue orders_;
  offered_outputs offered_;
  peers_up up_;
  worker_statistics statistics_;
  batch_history history_;
};

}  // namespace troupe
