#include "policies/cluster/deployment_status.hpp"

#include <string>

namespace troupe {

change_reply status_of(const deployment& line, const deployment_progress& progress,
                       const cluster_spec& cluster) {
  const auto model = "model '" + line.definition.name + "'";
  const auto node = [&](node_id n) { return "node '" + node_name(cluster, n) + "'"; };
  const bool deployed = line.wanted == deployment_state::deployed;
  change_reply r{0, true, false, line.revision, {}};
  const auto missing = progress.missing(line);
  if (const auto p = progress.problem(line)) {
    r.ok = false;
    r.detail = node(p->node) + " cannot load " + model + ": " + p->what;
  } else if (line.wanted == deployment_state::retiring) {
    r.detail = model + " accepts no new requests" +
               (missing ? "; " + node(*missing) + " still serves accepted ones" : "");
  } else if (missing) {
    r.detail = model + (deployed ? " is being loaded by " : " is being released by ") + node(*missing);
  } else if (!progress.complete(line)) {
    r.detail = model + " waits for a worker; none is up";
  } else if (deployed && line.moves()) {
    r.detail = model + " is being moved";
  } else {
    r.complete = true;
    r.detail = model + (deployed ? " is ready on every worker" : " is undeployed");
  }
  return r;
}

}  // namespace troupe
