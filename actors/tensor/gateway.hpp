// gateway: owns the outcome of every request that it accepted. Sends requests to their model queues, pulls
// outputs, answers clients, gives up what got no answer in time.
//
// Where standbys are, it goes on accepting requests while there is no leader, and submits
// all that have no outcome to whoever takes it. What an earlier scheduler says from then on does not count.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "actors/common/outcome.hpp"
#include "actors/common/tenant_limiter.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "messages/commands/commands.hpp"
#include "messages/common/id_table.hpp"
#include "policies/common/expiry_queue.hpp"
#include "policies/common/latency_histogram.hpp"
#include "policies/common/ledger.hpp"
#include "policies/common/recent_ring.hpp"
#include "policies/common/ring.hpp"

namespace troupe {

/// Where answers go: HTTP, or a simulated client.
class client_port {
 public:
  virtual ~client_port() = default;
  /// Exactly once for each `client_request`, on the gateway's thread, whose time is the scheduler's: what
  /// takes long belongs elsewhere. `pulled` holds `how.output`; moved from there, it stays valid.
  virtual void answer(request_id id, const outcome& how, std::vector<std::byte> pulled) = 0;
  /// A batch of `rows` rows ran that had requests of this gateway; before their answers, on the same thread.
  virtual void executed(model_id, uint32_t /*rows*/, const batch_times&) {}
  /// Of what was handed to `answer`, what is still in memory. Thread-safe.
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
    uint32_t decision_log = 0;              ///< of requests that it ended by itself, so many are remembered
  };

  /// What is handed in outlives it.
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
    if (!in_flight_.empty()) out.push_back(scheduler_);
  }

  const ledger& request_ledger() const { return ledger_; }
  size_t in_flight() const { return in_flight_.size(); }
  bool balanced() const { return ledger_.balanced(in_flight_.size()); }

 private:
  /// What is kept of a model, by its id.
  struct model_state {
    std::string name;
    bool open = true;           ///< takes requests
    latency_histogram latency;  ///< of finished requests
    submit next;                ///< sent at the end of the turn
    uint64_t in_time = 0;       ///< finished by their deadlines
  };
  /// A request that this gateway ended by itself.
  struct decided {
    request_id id;
    model_id model;
    uint32_t rows = 0, tenant = 0;
    time_point arrival, deadline, at;
    outcome_kind kind{};
    drop_reason reason{};
    failure error{};
    bool at_admission = false;
    uint64_t in_flight = 0;
    duration retry_after{};
    std::string detail;
  };
  /// An accepted request without an outcome.
  struct in_flight_request {
    request asked;
    region_ref output;              // to be pulled, or being pulled
    address worker;                 // who offers it
    std::vector<std::byte> pulled;  // empty: it waits for room
    uint32_t batch_rows = 0;
    batch_id batch;
    batch_times times{};
    bool counted = false;  // against its tenant's quota
    time_point accepted_at = never, completed_at = never;
  };

  void accept(request& r, time_point now);
  void on_drops(const drops& d, time_point now);
  /// The answer of any attempt is the answer: a batch is a function of its inputs.
  void on_completion(const address& worker, const completion& c, time_point now);
  void on_pulled(const pulled& p, time_point now);
  void pull_outputs(time_point now);
  bool has_room(const in_flight_request& f, bool oldest) const;
  void begin_pull(in_flight_request& f);
  void end_pull(const in_flight_request& f);
  void run_again(node_id node, incarnation_id incarnation);
  void abandon_output(in_flight_request& f);
  void on_node_up(const node_up& n);
  void on_node_down(const node_down& d, time_point now);
  void on_node_leaving(const node_leaving& n);
  void on_leadership(const leadership& t);
  void update_scheduler_state();
  void submit_again();
  bool outdated(const address& from) const;
  void on_gone(request_id id, time_point now);
  void expire(time_point now);
  void start_over(time_point now);
  void on_change(const deployment& line);
  void report_idle();

  void settle(in_flight_request& f, outcome how, time_point now);
  /// It was nobody else's decision.
  void decide(in_flight_request& f, const outcome& how, time_point now, bool at_admission = false);
  gateway_decision explain(request_id id) const;
  void trace(const in_flight_request& f, const outcome& how, time_point now);
  gateway_state describe() const;
  ledger_report ledger_of_models() const;
  latency_report latencies() const;
  open_requests list(const list_requests& asked, time_point now) const;
  /// Others still work for it: its tenant is charged until they have done.
  void settle_early(in_flight_request f, const outcome& how, time_point now);
  void forget_input(request_id id);
  void leave(in_flight_request& f);
  void give_up_output(const address& worker, const region_ref& region);
  void fail_all(failure why, time_point now);
  void give_back(const region_ref& region);

  options options_;
  memory_port& memory_;
  client_port& clients_;
  tenant_limiter& tenants_;
  bool draining_ = false;
  node_id scheduler_;
  bool scheduler_up_ = false;
  leadership leadership_;                                      // where standbys are
  std::unordered_map<node_id, incarnation_id> candidates_up_;  // for leadership: up, and not leaving
  ledger ledger_;
  std::vector<model_state> models_;                    // by id
  std::vector<model_idle> retiring_;                   // models that still have requests here
  id_table<request_id, in_flight_request> in_flight_;  // the request table
  // Their outcome is known, but they still count: a worker may read the input, until an answer or an expiry;
  // or a pull still writes the buffer.
  std::unordered_map<request_id, in_flight_request> late_inputs_;
  std::unordered_map<uint64_t, in_flight_request> late_pulls_;
  std::vector<request_id> outputs_to_pull_;            // in their order, some of which may have their outcome
  uint64_t pulled_bytes_ = 0;                          // by pulls that have not ended
  std::unordered_map<node_id, uint64_t> pulled_from_;  // of these
  time_point look_for_room_at_ = never;
  expiry_queue expiries_;                              // of requests in flight and late inputs
  std::vector<std::pair<address, release>> releases_;  // by worker, likewise
  uint64_t late_answers_ = 0, submitted_again_ = 0;
  std::optional<ring<request_trace>> traced_;  // while recording
  uint32_t trace_sample_ = 1;
  recent_ring<decided> decided_;
};

}  // namespace troupe
