// The requests of one model, from admission to the end of their batch or their drop.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "policies/batching/admission.hpp"
#include "policies/batching/batching.hpp"
#include "policies/batching/decision_log.hpp"
#include "policies/batching/dropped_requests.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/load_counter.hpp"
#include "policies/batching/model_placements.hpp"
#include "policies/batching/poison_retry_queue.hpp"
#include "policies/batching/request_table.hpp"
#include "policies/batching/request_times.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// Records of how a queue's requests ended: for `troupe why`, the scale planner and the gateways.
struct request_ends {
  decision_log log;
  load_counter load;
  dropped_requests dropped;
};

/// The batching policy forms and times the batches, admission bounds the queue, and poison retries wait in a
/// queue of their own. A request has a handle in the request table from `keep` to its release; requests in
/// flight stay in the table until their batch returns (batch_returns.hpp).
class request_queue {
 public:
  struct options {
    request_times times;
    uint32_t max_queued_rows = 8192;
    bool latency_given = false;  ///< the policy keeps its latency; otherwise it takes the slots' measured one
    uint32_t decision_log = 0;   ///< capacity, in requests
    duration load_report{};      ///< interval; zero: never
    uint32_t queues = 1;         ///< of the same model, as in `admission`
  };
  /// A batch that leaves for a worker.
  struct batch {
    uint32_t rows = 0;
    std::vector<request> requests;
    in_flight_batch in_flight;  ///< its worker is not set
  };

  request_queue(const options& o, std::unique_ptr<batching_policy> policy);

  /// Adds a request to the table and returns its handle.
  uint32_t keep(const request& r, time_point now) { return table_.add({r, now, policy_->queued_rows()}); }
  /// Queues a request, or drops it if there are no slots, if it is infeasible, or if the queue is full. While
  /// slots are expected (model_slots::expected_until), requests wait for the first one instead.
  void queue_up(uint32_t handle, time_point now);
  /// Queues a request that was admitted before: no bound applies.
  void queue_again(uint32_t handle, time_point now);
  /// Queues a poison retry, or drops it if there are no slots.
  void queue_alone(uint32_t handle, time_point now);

  /// The request may have killed a worker, in a batch of its gateway's former incarnation. If it is here
  /// again, it is queued as a poison retry, or will be when its batch returns; returns its gateway. If not,
  /// `loss_of` tells it later: of the last requests of this kind.
  std::optional<address> suspect(request_id id, worker_loss loss, time_point now);
  worker_loss loss_of(request_id id) const;

  /// Drops a waiting request, logs the grounds, and releases its handle.
  void give_up(uint32_t handle, drop_reason why, const drop_grounds& g, time_point now);
  /// Drops a request that has no handle.
  void drop(const request& r, drop_reason why);
  using condition = std::function<bool(const request&)>;
  /// Drops the waiting requests, poison retries included, for which `leaves` holds. O(n).
  void give_up_if(const condition& leaves, drop_reason why, const drop_grounds& g, time_point now);
  /// Releases such requests without a report. Returns their number.
  size_t release_if(const condition& leaves);
  /// Counts rows that were dropped in overload; above a bound they make admission stricter.
  void count_lost(uint32_t rows, time_point now) { admission_.lost(now, rows); }

  /// The policy's batch leaves the queue as batch `id`, earliest deadline first.
  batch take_batch(batch_id id, time_point now);
  /// The first poison retry leaves the queue as batch `id`. Precondition: there is one.
  batch take_poison_retry(batch_id id);
  /// Drops the poison retries that can no longer start in time.
  void give_up_late_retries(time_point now);
  /// Queues the requests that wait for a slot, if there is one, and drops those that wait in vain.
  void place_waiting(time_point now);
  /// Calls `send(gateway, drops)` for the requests dropped since the last call.
  template <class F>
  void flush_drops(time_point now, F&& send) {
    give_up_shed(now);
    ends_.dropped.flush(send);
  }
  /// Removes all requests and pending drops; the decision log stays.
  void forget_all();

  /// Replaces the policy; the queued requests and the latency move to the new one. Precondition: the drops of
  /// the old policy are flushed.
  void set_policy(std::unique_ptr<batching_policy> policy, time_point now);
  /// Sets the slots to plan with. With none, the policy keeps its old slots and latency, and new requests are
  /// dropped.
  void set_slots(const model_slots& s);
  /// A batch whose requests are still in the table took so long on its slot.
  void learn(const in_flight_batch& b, duration took);
  void set_slo(duration slo) { options_.times.slo = slo; }

  batching_policy& policy() const { return *policy_; }
  poison_retry_queue& retries() { return retries_; }
  const poison_retry_queue& retries() const { return retries_; }
  request_table& table() { return table_; }
  const request_table& table() const { return table_; }
  request_ends& ends() { return ends_; }
  const request_ends& ends() const { return ends_; }
  const request_times& times() const { return options_.times; }
  /// Number of slots in the model's domain.
  uint32_t slots() const { return slots_; }
  /// Number of requests that wait for the first slot.
  size_t waiting_for_slot() const { return unplaced_.size(); }
  /// When to call `place_waiting` next, unless slots are set before.
  time_point waiting_due() const {
    return unplaced_.empty() ? never : std::min(unplaced_due_, expected_until_);
  }

 private:
  void give_up_shed(time_point now);
  bool wait_for_slot(uint32_t handle, time_point now);

  options options_;
  std::unique_ptr<batching_policy> policy_;
  request_table table_;
  poison_retry_queue retries_;
  admission admission_;
  request_ends ends_;
  uint32_t slots_ = 0;
  time_point expected_until_ = long_ago;  // while there are no slots
  std::vector<uint32_t> unplaced_;        // in the order of their arrival
  time_point unplaced_due_ = never;       // their first deadline, or earlier
  recent_ring<std::pair<request_id, worker_loss>> absent_suspects_{64};
  uint32_t last_batch_rows_ = 1;
  std::vector<queued_request> batch_;            // reused
  std::vector<dropped_queued_request> dropped_;  // reused
};

}  // namespace troupe
