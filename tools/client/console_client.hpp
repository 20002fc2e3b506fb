// How the tools talk to a running cluster: commands to the consoles of its nodes, over the control lane.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"
#include "tools/client/control_client.hpp"

namespace troupe {

class console_client {
 public:
  /// Connects when it must. Throws std::runtime_error if the operator's certificate cannot be used. `cluster`
  /// outlives it.
  explicit console_client(const cluster_spec& cluster);

  /// The console's answer; not `ok`: `body` says why, also if nobody answers in 3 s.
  command_reply send(node_id node, const std::string& verb, const std::string& argument = {});

  /// The answer as JSON, or {"node", "error"}.
  nlohmann::json query(node_id node, const std::string& verb);

  /// Lets the actor do `type` with `fields`, through the console of `via`. `verb`: "ask" or "tell".
  command_reply order(node_id via, const std::string& verb, const std::string& actor, const std::string& type,
                      const nlohmann::json& fields);

  /// The first node of the file that answers; the number of nodes if none does.
  node_id first_up();

 private:
  const cluster_spec& cluster_;
  control_client lane_;
};

}  // namespace troupe
