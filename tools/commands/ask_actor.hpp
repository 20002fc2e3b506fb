// `troupe ask` and `troupe tell`: any command of its protocol to any actor of a running cluster.
#pragma once
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct ask_options {
  std::string actor;   ///< "gpu_worker/3@left"
  std::string type;    ///< of the command; or all of it: {"type": {fields}}
  std::string fields;  ///< JSON object; empty: none
  std::string via;     ///< the node whose console is asked; empty: the first that answers
  bool wait = true;    ///< for what the actor says; false: `tell`
  /// Empty, or what the answer must be (wait_condition.hpp), and for how many seconds at most it is asked
  /// for.
  std::vector<std::string> until;
  bool json = false;  ///< on one line
};

/// Prints what the actor answers, as JSON. Returns 0, 1 if it could not be done or did not come true in time,
/// 2 if it makes no sense.
int ask_actor(const cluster_spec& cluster, const ask_options& options);

/// `troupe ask --schema`: the commands of a kind of actor, or of all, for people or as JSON. Returns 0 or 2.
int print_schema(const std::string& kind, bool json);
/// The same for one actor, which may be of a plug-in.
int print_schema(const cluster_spec& cluster, const std::string& actor, bool json);

}  // namespace troupe
