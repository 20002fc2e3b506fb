// The tools' client of a running cluster: sends commands to the consoles of its nodes over the control lane.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"
#include "tools/client/control_client.hpp"

namespace troupe {

class console_client {
 public:
  /// Connects on demand. Throws std::runtime_error if the operator's certificate is not usable. `cluster`
  /// outlives it.
  explicit console_client(const cluster_spec& cluster);

  /// The console's answer. If not `ok`, `body` says why; also if there is no answer in 3 s.
  console_reply send(node_id node, const std::string& verb, const std::string& argument = {});

  /// The answer as JSON, or {"node", "error"}.
  nlohmann::json query(node_id node, const std::string& verb);

  /// Sends command `type` with `fields` to the actor, through the console of `via`. `verb`: "ask" or "tell".
  console_reply order(node_id via, const std::string& verb, const std::string& actor, const std::string& type,
                      const nlohmann::json& fields);

  /// The first node of the file that answers; the number of nodes if none does.
  node_id first_up();

 private:
  const cluster_spec& cluster_;
  control_client lane_;
};

}  // namespace troupe
