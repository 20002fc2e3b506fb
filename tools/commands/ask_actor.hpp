// `troupe ask` and `troupe tell`: send a command to an actor of a running cluster.
#pragma once
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct ask_options {
  std::string actor;   ///< "gpu_worker/3@left"
  std::string type;    ///< of the command; or the whole command: {"type": {fields}}
  std::string fields;  ///< JSON object; empty: none
  std::string via;     ///< the node whose console is asked; empty: the first that answers
  bool wait = true;    ///< for the answer; false: `tell`
  /// Empty, or the condition for the answer (wait_condition.hpp) and the number of seconds to ask for.
  std::vector<std::string> until;
  bool json = false;  ///< on one line
};

/// Prints the actor's answer as JSON. Returns 0, 1 if the command failed or the condition did not hold in
/// time, 2 for invalid options.
int ask_actor(const cluster_spec& cluster, const ask_options& options);

/// `troupe ask --schema`: the commands of a kind of actor, or of all, for people or as JSON. Returns 0 or 2.
int print_schema(const std::string& kind, bool json);
/// The same for one actor, which may belong to a plug-in.
int print_schema(const cluster_spec& cluster, const std::string& actor, bool json);

}  // namespace troupe
