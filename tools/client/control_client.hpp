// Client of the control lane: sends commands to the nodes' consoles, with the operator's certificate if the
// cluster has certificates.
#pragma once
#include <chrono>
#include <memory>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

class control_client {
 public:
  /// Throws std::runtime_error if the operator's certificate is not usable. `cluster` outlives it.
  explicit control_client(const cluster_spec& cluster);
  ~control_client();

  /// The reply of the node's console; not ok, with one sentence, if there is none.
  command_reply ask(const node_spec& node, command asked,
                    std::chrono::milliseconds timeout = std::chrono::seconds(3));

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
