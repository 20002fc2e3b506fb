// gateway: owns the outcome of every tensor request that it accepted. Sends requests to their model queues,
// pulls outputs, answers clients, gives up requests without an answer in time.
//
// In a cluster with standbys it accepts requests while there is no leader, and submits all requests without
// an outcome to the next one. Messages of an earlier scheduler are ignored from then on.
//
// Until its output is pulled a request can run again: if the worker with the output dies, it does.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "actors/common/in_flight_requests.hpp"
#include "actors/common/outcome.hpp"
#include "actors/common/tenant_limiter.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "actors/tensor/in_flight_request.hpp"
#include "actors/tensor/late_requests.hpp"
#include "actors/tensor/open_models.hpp"
#include "actors/tensor/outcome_log.hpp"
#include "actors/tensor/request_recorder.hpp"
#include "actors/tensor/scheduler_tracker.hpp"
#include "messages/commands/commands.hpp"
#include "policies/common/outcome_statistics.hpp"
#include "policies/common/pending_releases.hpp"
#include "policies/common/pending_submits.hpp"
#include "policies/common/pull_window.hpp"

namespace troupe {

/// Where answers go: HTTP, or a simulated client.
class client_port {
 public:
  virtual ~client_port() = default;
  /// Exactly once for each `client_request`, on the gateway's thread, which it shares with the scheduler: it
  /// must not take long. `pulled` holds `how.output`; moved from there, it stays valid.
  virtual void answer(request_id id, const outcome& how, std::vector<std::byte> pulled) = 0;
  /// A batch of `rows` rows ran that had requests of this gateway; before their answers, on the same thread.
  virtual void executed(model_id, uint32_t /*rows*/, const batch_times&) {}
  /// The bytes that were handed to `answer` and are still in memory. Thread-safe.
  virtual uint64_t unwritten_bytes() const { return 0; }
};

class gateway final : public actor {
 public:
  struct options {
    std::vector<std::string> models;         ///< names by id, for metrics
    std::vector<std::string> tenants;        ///< likewise, by `request::tenant` less one
    node_id scheduler;                       ///< where the model queues live; of candidates the first
    std::vector<node_id> leader_candidates;  ///< empty: `scheduler` does
    size_t max_in_flight = 65536;
    uint64_t max_output_bytes = 256 << 20;  ///< of one request
    uint64_t max_pulled_bytes = 256 << 20;  ///< of all, from their pull until their answer is written
    duration timeout = 1s;                  ///< after the deadline
    duration drain_timeout{};               ///< it is gone after that at the latest
    uint32_t decision_log = 0;              ///< so many requests are remembered that it ended by itself
  };

  /// The arguments outlive it.
  gateway(address self, outbox& out, const options& o, memory_port& memory, client_port& clients,
          tenant_limiter& tenants);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;
  size_t unfinished() const override { return in_flight_.size(); }
  void busy_with(std::vector<node_id>& out) const override {
    if (!in_flight_.empty()) out.push_back(scheduler_.scheduler());
  }

  const ledger& request_ledger() const { return in_flight_.counts(); }
  size_t in_flight() const { return in_flight_.size(); }
  bool balanced() const { return in_flight_.balanced(); }

 private:
  void accept(const request& r, time_point now);
  void on_drops(const drops& d, time_point now);
  void on_completion(const address& worker, const completion& c, time_point now);
  /// The answer of any attempt is the answer: a batch is a function of its inputs.
  void on_result(in_flight_request& f, const completion& c, const result& r, time_point now);
  void on_pulled(const pulled& p, time_point now);
  void on_gone(request_id id, time_point now);
  void apply(scheduler_tracker::effect e, time_point now);

  void expire(time_point now);
  void pull_outputs(time_point now);
  void submit_again();
  void run_again(node_id worker, incarnation_id incarnation);
  void fail_all(failure why, time_point now);

  /// Gives the client its answer. The request is not in the table.
  void settle(in_flight_request& f, outcome how, time_point now);
  /// Settles with an outcome that this gateway decided by itself.
  void decide(in_flight_request& f, const outcome& how, time_point now, bool at_admission = false);
  /// Decides about a request that others still work for; its tenant is charged until they are done.
  void settle_early(in_flight_request f, const outcome& how, time_point now);
  void forget_input(request_id id);
  void give_back(const region_ref& region);

  const options options_;
  memory_port& memory_;
  client_port& clients_;
  in_flight_requests<in_flight_request> in_flight_;
  late_requests late_;
  scheduler_tracker scheduler_;
  open_models models_;
  pending_submits submits_;
  pending_releases releases_;
  pull_window pulls_;
  outcome_statistics statistics_;
  outcome_log decided_;
  request_recorder recorder_;
  uint64_t late_answers_ = 0, submitted_again_ = 0;
};

}  // namespace troupe
