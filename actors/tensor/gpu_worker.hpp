// gpu_worker: one execution slot. Pulls the inputs of a batch while the batch before it runs, runs batches in
// the order of their orders, each as soon as its inputs are here and the device is free (the batch is final,
// so that waiting for its planned start would gain nothing); offers the outputs to be pulled. Refuses what
// has an old term or comes too late. Inputs and outputs without bytes take no memory and are not pulled.
//
// An order that preempts stops what runs as soon as its own inputs are here. Of what was stopped only its
// queue and the arbiter hear.
//
// Once its device is lost it throws, so that the process ends (actors/runtime/supervision.hpp).
//
// When the leader changes, it gives up what waits and hands over what runs: it tells
// the new scheduler of it, and later that it is done.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "gpu/device/device.hpp"
#include "messages/commands/commands.hpp"
#include "messages/common/id_table.hpp"
#include "policies/common/ring.hpp"

namespace troupe {

class gpu_worker final : public actor {
 public:
  struct options {
    slot_id slot;
    uint32_t domain = 0;    ///< scheduling domain
    size_t max_orders = 4;  ///< running and waiting; the arbiter keeps to two
  };

  /// A `slot_ready` says which models `runs` has loaded. `runs` and `memory` outlive the actor.
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
  struct part {
    std::vector<std::byte> pulled;     // whole slot, with the words around the payload
    std::span<const std::byte> input;  // within `pulled`, once verified
    offer output;
    failure error = failure::none;
    bool arrived = true;  // no pull is under way
  };
  struct job {
    batch_order order;
    uint64_t token = 0;       // of its first part; the next parts' follow
    std::vector<part> parts;  // one a request of the order, in its order
    size_t missing = 0;       // parts not yet pulled
    time_point received_at = never, inputs_at = never;
  };
  struct offered_output {
    region_ref region;
    node_id gateway;
    incarnation_id incarnation;  // the gateway's
  };
  /// A batch that ran.
  struct memory_of_batch {
    uint64_t number;
    model_id model;
    uint32_t requests, rows;
    time_point started_at, finished_at;
    bool stopped;
  };
  struct row_bytes {
    uint64_t input, output;
  };

  void on_order(batch_order& o, time_point now);
  void on_pulled(const pulled& p, time_point now);
  void on_release(const address& gateway, const release& r);
  void on_node_up(const node_up& u);
  void on_node_down(const node_down& d);
  void on_leadership(const leadership& t);
  void hand_over();
  bool is_from_leader(const batch_order& o) const;
  void start_over();
  void on_slot(const slot_ready& s);
  void on_change(const deployment& line, time_point now);
  void unload_leaving_models();
  void finish(time_point now);
  bool start(time_point now);
  void refuse(const batch_order& o, refusal why, time_point now);
  void preempt_for_waiting(time_point now);
  void was_preempted(const job& j, const batch_outcome& outcome);
  void answer(job& done, const batch_outcome& outcome);
  void give_up(std::deque<job>::iterator j);
  bool is_up(const address& peer) const;
  void release_outputs(const job& j);
  void send_batch_done(const batch_order& o, const batch_done& d);
  worker_state describe(time_point now) const;
  past_batches list(const list_batches& asked, time_point now) const;
  void remember(const job& j, const batch_outcome& outcome);
  void trace(const batch_order& o, uint32_t rows, refusal refused, const batch_times& times);

  options options_;
  std::vector<std::optional<row_bytes>> models_;  // by model id: what the device has loaded
  std::vector<model_idle> leaving_;               // models to be unloaded once they do not run
  device& device_;
  memory_port& memory_;
  term_id highest_{};
  leadership leadership_;  // where standbys are
  bool running_ = false;   // the front of `jobs_` is on the device
  bool stopping_ = false;  // ... and was asked to stop
  bool void_ = false;      // ... and belongs to an earlier incarnation
  std::deque<job> jobs_;
  std::vector<job> zombies_;  // given up, with pulls still under way into their buffers
  uint64_t next_token_ = 1;
  id_table<uint64_t, offered_output> offered_;      // not released, by generation
  std::unordered_map<node_id, incarnation_id> up_;  // the incarnations that this one has met

  uint64_t batches_ = 0, rows_ = 0;
  duration busy_{}, in_vain_{};
  std::array<uint64_t, refusal_count> refusals_{};  // preempted batches, too
  static constexpr size_t max_remembered = 512;
  std::deque<memory_of_batch> remembered_;  // oldest first
  uint64_t last_number_ = 0;
  std::optional<ring<batch_trace>> traced_;  // while recording
};

}  // namespace troupe
