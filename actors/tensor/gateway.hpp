// gateway owns the outcome of every tensor request that it accepts. It submits requests to their model
// queues, pulls the outputs from workers, answers the clients, and fails requests without an answer in time.
//
// With standbys it also accepts requests while there is no leader, and submits all requests without an
// offered output to the next one. Messages of earlier leaders' queues are ignored from then on.
//
// A request runs again if the worker that offers its output dies, or if its input or output cannot be pulled:
// the connection between two living nodes may have broken. So the input is kept until the output is here. If
// the own node begins a new incarnation, its requests go on in that. (If it schedules, too, its queue may
// drop them as no_capacity, until the workers have joined it.)
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
#include "messages/tensor/commands.hpp"
#include "policies/common/outcome_statistics.hpp"
#include "policies/common/pending_releases.hpp"
#include "policies/common/pending_submits.hpp"
#include "policies/common/pull_window.hpp"

namespace troupe {

/// Receives the gateway's answers: HTTP, or a simulated client.
class client_port {
 public:
  virtual ~client_port() = default;
  /// Called exactly once for each `client_request`, in a turn of the gateway. It must return quickly: the
  /// turn may be the scheduler's too. `pulled` holds the bytes of `how.output`, which stay valid when it is
  /// moved.
  virtual void answer(request_id id, const outcome& how, std::vector<std::byte> pulled) = 0;
  /// A batch with requests of this gateway ran; called before their answers, on the same thread.
  virtual void executed(model_id, uint32_t /*rows*/, const batch_times&) {}
  /// Bytes passed to `answer` that are still in memory. Thread-safe.
  virtual uint64_t unwritten_bytes() const { return 0; }
};

class gateway final : public actor {
 public:
  struct options {
    std::vector<std::string> models;         ///< names by id, for metrics
    std::vector<std::string> tenants;        ///< likewise, by `request::tenant` less one
    node_id scheduler;                       ///< node of the model queues; with candidates, the first one
    std::vector<node_id> leader_candidates;  ///< empty: `scheduler` always leads
    size_t max_in_flight = 65536;
    uint64_t max_output_bytes = 256 << 20;  ///< of one request
    uint64_t max_pulled_bytes = 256 << 20;  ///< of all, from their pull until their answer is written
    duration timeout = 1s;                  ///< from the deadline until an unanswered request fails
    duration drain_timeout{};               ///< `retry_after` of requests refused while draining
    duration join_timeout = 9s;  ///< after a new incarnation, until the scheduler is no longer expected
    uint32_t decision_log = 0;   ///< number of own decisions to remember
  };

  /// `memory`, `clients` and `tenants` outlive it.
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
  bool balanced() const { return in_flight_.balanced(); }

 private:
  void accept(const request& r, time_point now);
  void on_drops(const drops& d, time_point now);
  void on_suspects(const suspects& s);
  void on_completion(const address& worker, const completion& c, time_point now);
  /// The first result counts, of any attempt: results are a function of the inputs.
  void on_result(in_flight_request& f, const completion& c, const result& r, time_point now);
  void on_pulled(const pulled& p, time_point now);
  void on_gone(request_id id, time_point now);
  void apply(scheduler_tracker::effect e, time_point now);

  void expire(time_point now);
  void pull_outputs(time_point now);
  void submit_again();
  void run_again(node_id worker, incarnation_id incarnation);
  /// Submits a request whose bytes were lost in `attempt` again. False if it is too late for that.
  bool try_again(in_flight_request& f, uint32_t attempt, time_point now);
  void begin_anew(time_point now);

  /// Answers the client. The request is no longer in the table.
  void settle(in_flight_request& f, outcome how, time_point now);
  /// Settles with an outcome that this gateway decided by itself.
  void decide(in_flight_request& f, const outcome& how, time_point now, bool at_admission = false);
  /// Decides a request for which a worker or a pull still works; its tenant is charged until that ends.
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
