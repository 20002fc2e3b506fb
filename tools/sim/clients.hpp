// The simulated clients: open-loop arrivals that enter behind HTTP, each request with its own bytes.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/tensor/gateway.hpp"
#include "messages/common/id_table.hpp"
#include "messages/workload/workload.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/sim/faults.hpp"
#include "tools/sim/invariants.hpp"
#include "tools/sim/timeline.hpp"

namespace troupe {
class frontend;
}

namespace troupe::sim {

class clients {
 public:
  struct environment {
    const cluster_spec& cluster;
    const std::vector<model_spec>& models;  ///< of the workload's loads, in their order
    const workload_spec& workload;
    timeline& time;
    /// The frontend of a node; null while the node has no process.
    std::function<frontend*(node_id)> frontend_of;
    std::function<time_point(node_id)> clock_of;
    invariants& checks;
    fault_log& faults;
  };
  struct options {
    double hang_up = 0;  ///< fraction of the clients that hang up before twice the SLO
    uint64_t seed = 1;
  };

  clients(const environment& s, const options& o);

  /// Starts the arrivals.
  void start();
  /// Whether more requests are to come.
  bool done() const { return running_ == 0; }
  size_t waiting() const { return open_.size(); }
  size_t waiting_at(node_id gateway) const;

  /// Makes the next request to this gateway poison.
  void poison_next(node_id gateway) { ++poison_due_[gateway.value]; }

  /// The receiver of the answers of a node's gateway.
  client_port& port(node_id gateway) { return *ports_[gateway.value]; }
  /// The process of this node died.
  void gateway_died(node_id gateway);

  client_request_record* find(request_id id) { return open_.find(id); }
  /// Statistics of the requests offered after the warm-up, by model.
  const std::vector<request_statistics>& statistics() const { return statistics_; }
  /// Statistics of all requests.
  const request_statistics& total() const { return total_; }
  duration started_at() const { return start_; }

 private:
  struct port_of_node final : client_port {
    port_of_node(clients& c, node_id n) : all(c), node(n) {}
    void answer(request_id id, const outcome& how, std::vector<std::byte>) override {
      all.on_answer(node, id, how);
    }
    clients& all;
    const node_id node;
  };

  /// Requests of a model in operational time, which runs at `pace` times real time until the first segment.
  struct source {
    arrival_process arrivals;
    double pace;
  };

  void schedule_next(size_t model);
  /// Since the time of the first possible request; duration::max() if that is too far away to matter.
  duration real_time(duration operational, double pace) const;
  void offer(size_t model);
  void arrive(uint64_t arrival_number);
  uint32_t some_tenant();
  void enter(client_request_record r);
  void on_answer(node_id gateway, request_id id, const outcome& how);
  void end(client_request_record& r, client_outcome how, drop_reason why = drop_reason::none);

  const environment env_;
  const options options_;
  random_stream random_;
  random_stream tenant_draws_, shape_draws_;
  std::vector<std::unique_ptr<port_of_node>> ports_;
  std::vector<node_id> gateways_;
  std::vector<std::optional<source>> sources_;
  std::vector<uint32_t> poison_due_;  ///< by node
  size_t running_ = 0;                ///< sources that have not ended
  duration start_{};
  uint64_t next_arrival_number_ = 1;
  std::map<uint64_t, client_request_record> arriving_;
  id_table<request_id, client_request_record> open_;
  std::vector<request_statistics> statistics_;
  request_statistics total_;
};

}  // namespace troupe::sim
