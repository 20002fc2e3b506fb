// The requests of one model, from admission to their batch or their drop.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

namespace troupe {

/// Reports about the ends of a queue's requests: for `troupe why`, for plans of capacity, and for gateways.
struct request_ends {
  decision_log log;
  load_counter load;
  dropped_requests dropped;
};

/// The batching policy forms and times the batches; admission bounds the queue; requests that may have killed
/// a worker wait apart. A request goes by its handle in the table from `keep` until its release. Requests in
/// flight stay in the table until their batch is back (batch_returns.hpp).
class request_queue {
 public:
  struct options {
    request_times times;
    uint32_t max_queued_rows = 8192;
    bool latency_given = false;  ///< plans keep the policy's latency; else they take the slots'
    uint32_t decision_log = 0;   ///< the decisions about so many requests are remembered
    duration load_report{};      ///< the interval; zero: never
  };
  /// Requests that leave for a worker.
  struct batch {
    uint32_t rows = 0;
    std::vector<request> requests;
    in_flight_batch in_flight;  ///< without its worker
  };

  request_queue(const options& o, std::unique_ptr<batching_policy> policy);

  /// Gives a request a handle.
  uint32_t keep(const request& r, time_point now) { return table_.add({r, now, policy_->queued_rows()}); }
  /// Queues a request, or gives it up: without slots, if it is infeasible, or beyond the bound of admission.
  void queue_up(uint32_t handle, time_point now);
  /// Queues a request that was let in before: no bound applies.
  void queue_again(uint32_t handle, time_point now);
  /// Queues a poison retry, or gives the request up if there are no slots.
  void queue_alone(uint32_t handle, time_point now);

  /// Drops a request that waits, with the grounds for the decision log, and releases its handle.
  void give_up(uint32_t handle, drop_reason why, const drop_grounds& g, time_point now);
  /// Drops a request that has no handle.
  void drop(const request& r, drop_reason why);
  using condition = std::function<bool(const request&)>;
  /// Gives up those that wait, poison retries included, and fulfil the condition. O(n).
  void give_up_if(const condition& leaves, drop_reason why, const drop_grounds& g, time_point now);
  /// The same without a drop: nobody is told. Returns how many there were.
  size_t release_if(const condition& leaves);
  /// Rows were lost to want of time: admission becomes stricter.
  void count_lost(uint32_t rows, time_point now) { admission_.lost(now, rows); }

  /// The policy's batch leaves the queue as batch `id`, earliest deadline first.
  batch take_batch(batch_id id, time_point now);
  /// The first poison retry leaves the queue as batch `id`. Precondition: there is one.
  batch take_poison_retry(batch_id id);
  /// Gives up the poison retries that cannot start in time any more.
  void give_up_late_retries(time_point now);
  /// Calls `send(gateway, drops)` for what was dropped since the last call.
  template <class F>
  void flush_drops(time_point now, F&& send) {
    give_up_shed(now);
    ends_.dropped.flush(send);
  }
  /// Forgets every request and every pending drop; the decision log stays.
  void forget_all();

  /// What is queued goes over to the new policy, which keeps the old one's latency. Precondition: the drops
  /// of the old policy are flushed.
  void set_policy(std::unique_ptr<batching_policy> policy, time_point now);
  /// Plans with these slots. Without any the plans stay as they are, and requests are given up.
  void set_slots(const model_slots& s);
  void set_slo(duration slo) { options_.times.slo = slo; }

  batching_policy& policy() const { return *policy_; }
  poison_retry_queue& retries() { return retries_; }
  const poison_retry_queue& retries() const { return retries_; }
  request_table& table() { return table_; }
  const request_table& table() const { return table_; }
  request_ends& ends() { return ends_; }
  const request_ends& ends() const { return ends_; }
  const request_times& times() const { return options_.times; }
  /// In the model's domain.
  uint32_t slots() const { return slots_; }

 private:
  void give_up_shed(time_point now);

  options options_;
  std::unique_ptr<batching_policy> policy_;
  request_table table_;
  poison_retry_queue retries_;
  admission admission_;
  request_ends ends_;
  uint32_t slots_ = 0;
  uint32_t last_batch_rows_ = 1;
  std::vector<queued_request> batch_;            // reused
  std::vector<dropped_queued_request> dropped_;  // reused
};

}  // namespace troupe
