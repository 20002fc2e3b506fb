// The simulated clients of language models: open-loop arrivals, and streams that are compared, token by
// token, with those of an undisturbed run.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/llm/gateway.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/random.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/sim/client_statistics.hpp"
#include "tools/sim/timeline.hpp"
#include "tools/sim/violations.hpp"

namespace troupe {
class frontend;
}

namespace troupe::sim {

/// A request of the workload's trace that ended; times are since it was due.
struct traced_generation_end {
  size_t row = 0;
  client_outcome how = client_outcome::finished;
  drop_reason why = drop_reason::none;
  std::vector<duration> tokens;  ///< when each came
  duration ended{};
};

/// Statistics of the requests of one language model.
struct llm_statistics {
  uint64_t offered = 0;
  uint64_t outcomes[client_outcome_count] = {};
  uint64_t tokens = 0;
  uint64_t moved = 0;     ///< requests with tokens from engines of more than one node
  duration last_token{};  ///< its time, since the clients started
  latency_histogram first_token, between_tokens, whole;
  latency_histogram tpot;  ///< (last - first token) / (tokens - 1), of finished requests for one choice
  uint64_t of(client_outcome f) const { return outcomes[static_cast<size_t>(f)]; }
};

class llm_clients {
 public:
  struct environment {
    const cluster_spec& cluster;
    const workload_spec& workload;
    timeline& time;
    /// The frontend of a node; null while the node has no process.
    std::function<frontend*(node_id)> frontend_of;
    std::function<time_point(node_id)> clock_of;
    violations& broken;
    bool trace = true;  ///< keep the times of the tokens of traced sequences
  };

  llm_clients(const environment& s, uint64_t seed);
  ~llm_clients();

  void start();
  /// Whether more requests are to come.
  bool done() const { return running_ == 0; }
  size_t waiting() const { return open_.size(); }

  completion_port& port(node_id gateway);
  /// The process of this node died.
  void gateway_died(node_id gateway);
  /// An engine received this request, from the beginning or to resume it.
  void given(node_id worker, const generation& g);

  /// By load of the workload, followed by its trace.
  const std::vector<llm_statistics>& statistics() const { return statistics_; }
  std::vector<traced_generation_end> take_traced() { return std::move(traced_); }

 private:
  struct port_of_node;
  struct stream {
    size_t load = 0;
    std::optional<traced_generation_end> traced = {};
    generation asked;
    node_id gateway;
    duration offered_at{}, first_token_at{}, last_token_at{};
    std::vector<std::vector<llm::token>> got;  // by choice
    std::vector<bool> ended;
    uint32_t enough = UINT32_MAX;  // number of tokens after which the client ends the sequence
    std::vector<node_id> workers;
    bool moved = false;
  };

  void schedule_next(size_t load);
  void offer(size_t load);
  void offer_row(size_t row);
  void enter(stream s, duration ttft, std::optional<duration> patience);
  void begin_alike(generation& g);
  generation some_request(const llm_load& load);
  bool token(node_id gateway, const generated_token& t);
  void on_ended(node_id gateway, request_id id, const outcome& how);
  void end(stream& s, client_outcome how, drop_reason why = drop_reason::none);
  static bool started(const stream& s);
  void compare(const stream& s, bool whole);

  const environment env_;
  const bool fault_free_;  // the run has no faults
  random_stream random_;
  std::vector<std::unique_ptr<port_of_node>> ports_;
  std::vector<node_id> gateways_;
  std::vector<std::optional<arrival_process>> sources_;
  size_t running_ = 0;  // sources that have not ended
  duration start_{};
  std::unordered_map<request_id, stream> open_;
  std::vector<llm_statistics> statistics_;
  std::vector<traced_generation_end> traced_;
};

}  // namespace troupe::sim
