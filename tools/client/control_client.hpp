// Client of the control lane: sends commands to the nodes' consoles, with the operator's certificate if the
// cluster has certificates.
#pragma once
#include <chrono>
#include <memory>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

/// How far a command came.
enum class delivery_state {
  answered,
  absent,       ///< nothing listens at the node's port: its process has ended, or has not started
  undelivered,  ///< no node took the command: it is frozen, out of reach, or rejects the operator's
                ///< certificate
  unanswered,   ///< the node may have carried it out
};

struct console_reply : command_reply {
  delivery_state how = delivery_state::answered;
  /// Another node may be asked: this one has not got the command.
  bool not_delivered() const { return how == delivery_state::absent || how == delivery_state::undelivered; }
};

class control_client {
 public:
  /// Throws std::runtime_error if the operator's certificate is not usable. `cluster` outlives it.
  explicit control_client(const cluster_spec& cluster);
  ~control_client();

  /// The reply of the node's console; not ok, with one sentence, if there is none. A node that ends meanwhile
  /// is noticed at once.
  console_reply ask(const node_spec& node, command asked,
                    std::chrono::milliseconds timeout = std::chrono::seconds(3));

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
