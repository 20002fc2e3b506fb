// Deployments: models that change at run time. The deployer of the leader decides and writes the deployment
// log. All deployers keep it, exchange it when they meet, and report when their node has applied it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/deployment/model_spec.hpp"

namespace troupe {

enum class deployment_state : uint16_t {
  deployed,   ///< workers load it, gateways accept requests for it
  retiring,   ///< gateways accept nothing new; accepted requests still run
  undeployed  ///< no request is left: the queue and the workers release it
};
inline constexpr size_t deployment_state_count = 3;
std::string_view to_string(deployment_state s);

inline constexpr uint32_t no_domain = ~uint32_t{0};

/// The newest line of the log about a model. Ids are dense and never reused for another definition.
///
/// A model moves to another scheduling domain in three lines. First the devices of the new domain load it
/// (`joining`). Then its queue changes to the arbiter of the new domain while batches in the old domain end
/// (`leaving`). Then the devices of the old domain release it.
struct deployment {
  uint64_t revision = 0;  ///< revision of the log with this change; 0: from the cluster file
  model_id model;
  deployment_state wanted = deployment_state::deployed;
  model_spec definition;
  uint32_t domain = 0;  ///< the domain of the arbiter that its queue uses
  uint32_t joining = no_domain;
  uint32_t leaving = no_domain;
  TROUPE_MESSAGE(deployment, revision, model, wanted, definition, domain, joining, leaving)
  bool operator==(const deployment&) const = default;

  /// The log has no definition of the model any more.
  bool forgotten() const { return definition.name.empty(); }
  bool moves() const { return joining != no_domain || leaving != no_domain; }
  /// True if the devices of that domain must have the model.
  bool held_in(uint32_t which) const {
    return wanted != deployment_state::undeployed &&
           (which == domain || which == joining || which == leaving);
  }
};

/// deployer → deployer, control lane: the lines of these models. Of two lines about a model the one with the
/// higher revision counts; at equal revisions the scheduler's.
struct deployment_log {
  std::vector<deployment> models;
  TROUPE_MESSAGE(deployment_log, models)
  bool operator==(const deployment_log&) const = default;
};

struct deployment_part {
  model_id model;
  uint64_t revision = 0;
  std::string problem;  ///< empty: applied; else the reason why this node cannot apply it
  TROUPE_MESSAGE(deployment_part, model, revision, problem)
  bool operator==(const deployment_part&) const = default;
};

/// deployer → the leader's deployer, control lane: this node has applied these lines, or cannot.
struct deployment_report {
  std::vector<deployment_part> parts;
  TROUPE_MESSAGE(deployment_report, parts)
  bool operator==(const deployment_report&) const = default;
};

/// To any deployer: serve this model. `definition`: the keys of a [[model]] table, as TOML; relative paths
/// start at the cluster file. A `change_reply` answers every command: once the change is accepted if `wait`
/// is zero, else once it is complete, has failed, or `wait` has passed.
struct deploy {
  uint64_t token = 0;  ///< given back in the reply
  std::string definition;
  duration wait{};
  TROUPE_MESSAGE(deploy, token, definition, wait)
  bool operator==(const deploy&) const = default;
};

/// To any deployer: serve an undeployed model again, by its last definition.
struct redeploy {
  uint64_t token = 0;
  std::string name;
  duration wait{};
  TROUPE_MESSAGE(redeploy, token, name, wait)
  bool operator==(const redeploy&) const = default;
};

/// To any deployer: stop serving this model. Accepted requests are still answered.
struct undeploy {
  uint64_t token = 0;
  std::string name;
  duration wait{};
  TROUPE_MESSAGE(undeploy, token, name, wait)
  bool operator==(const undeploy&) const = default;
};

/// To any deployer: serve this model on the devices of another scheduling domain. No request is lost.
struct move_model {
  uint64_t token = 0;
  std::string name;
  std::string domain;
  duration wait{};
  TROUPE_MESSAGE(move_model, token, name, domain, wait)
  bool operator==(const move_model&) const = default;
};

/// To any deployer: drain this node, as on SIGTERM. It accepts nothing new, finishes its work, leaves the
/// cluster, and its process ends. The reply says that the drain has begun; waiting for its end is left to the
/// caller.
struct drain_node {
  uint64_t token = 0;
  std::string node;
  TROUPE_MESSAGE(drain_node, token, node)
  bool operator==(const drain_node&) const = default;
};

struct change_reply {
  uint64_t token = 0;
  bool ok = false;        ///< accepted, and nothing has failed yet
  bool complete = false;  ///< done everywhere
  uint64_t revision = 0;
  std::string detail;  ///< one sentence for the caller; of a failure: the node and the reason
  TROUPE_MESSAGE(change_reply, token, ok, complete, revision, detail)
  bool operator==(const change_reply&) const = default;
};

}  // namespace troupe
