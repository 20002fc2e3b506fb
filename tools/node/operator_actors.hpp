// The actors of a real node that serve operators: metrics and console.
#pragma once
#include <caf/actor_system.hpp>
#include <functional>
#include <string>
#include <vector>

#include "actors/node_runtime.hpp"
#include "actors/operator/console.hpp"
#include "actors/operator/metrics.hpp"
#include "tools/node/node_process.hpp"

namespace troupe {

class operator_actors {
 public:
  /// All references must outlive the actors.
  struct parts {
    caf::actor_system& system;
    const cluster_spec& cluster;
    node_id self;
    node_runtime& runtime;
    const fabric& carrier;
    control_lane& control;
    const node_process& process;
    std::function<void(std::vector<metric>&)> report_http;  ///< adds the metrics of the HTTP server
    uint32_t restarts = 0;                                  ///< of this node by its supervisor
    std::string last_end{};                                 ///< how its previous process ended
  };
  explicit operator_actors(const parts& p);

  const metrics_protocol& metrics_actor() const { return metrics_; }
  const console_protocol& console_actor() const { return console_; }
  /// Ends both.
  void stop();

 private:
  metrics_protocol metrics_;
  console_protocol console_;
};

}  // namespace troupe
