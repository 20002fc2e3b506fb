// Models that come and go at run time. The deployer of the scheduler's node decides and writes the log; the
// deployers of all nodes keep it, tell each other when they meet, and say when their node has done its part.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/deployment/model_spec.hpp"

namespace troupe {

enum class deployment_state : uint16_t {
  deployed,   ///< workers load it, gateways take requests for it
  retiring,   ///< gateways take nothing new; what they accepted still runs
  undeployed  ///< nobody waits for it any more: the queue and the workers let it go
};
inline constexpr size_t deployment_state_count = 3;
std::string_view to_string(deployment_state s);

inline constexpr uint32_t no_domain = ~uint32_t{0};

/// The newest line of the log about a model. Ids are dense and never given to another definition.
///
/// A model moves to another scheduling domain in three lines: first the devices of the new domain load it
/// (`joining`); then the queue goes over to the arbiter of the new domain, and what runs in the old one ends
/// (`leaving`); then the devices of the old domain let it go.
struct deployment {
  uint64_t revision = 0;  ///< of the log with this change; 0: as the cluster file says
  model_id model;
  deployment_state wanted = deployment_state::deployed;
  model_spec definition;
  uint32_t domain = 0;  ///< whose arbiter its queue talks to
  uint32_t joining = no_domain;
  uint32_t leaving = no_domain;
  TROUPE_MESSAGE(deployment, revision, model, wanted, definition, domain, joining, leaving)
  bool operator==(const deployment&) const = default;

  bool moves() const { return joining != no_domain || leaving != no_domain; }
  /// The devices of that domain are to have the model.
  bool held_in(uint32_t which) const {
    return wanted != deployment_state::undeployed &&
           (which == domain || which == joining || which == leaving);
  }
};

/// deployer → deployer, control lane: what I know of these models. Of two lines about a model the one with
/// the higher revision counts; equal revisions: the scheduler's.
struct deployment_log {
  std::vector<deployment> models;
  TROUPE_MESSAGE(deployment_log, models)
  bool operator==(const deployment_log&) const = default;
};

struct deployment_part {
  model_id model;
  uint64_t revision = 0;
  std::string problem;  ///< empty: done; else why it cannot be done here
  TROUPE_MESSAGE(deployment_part, model, revision, problem)
  bool operator==(const deployment_part&) const = default;
};

/// deployer → the scheduler's, control lane: my node has done its part of these.
struct deployment_report {
  std::vector<deployment_part> parts;
  TROUPE_MESSAGE(deployment_report, parts)
  bool operator==(const deployment_report&) const = default;
};

/// To any deployer: serve this model. `definition`: the keys of a [[model]] table, as TOML; relative paths
/// are relative to the cluster file. All commands are answered by a `change_reply`, once the change is
/// accepted, or, if `wait` is not zero, once it is done everywhere, has failed, or so long has passed.
struct deploy {
  uint64_t token = 0;  ///< given back in the reply
  std::string definition;
  duration wait{};
  TROUPE_MESSAGE(deploy, token, definition, wait)
  bool operator==(const deploy&) const = default;
};

/// To any deployer: serve a model again that was undeployed, as it was defined last.
struct redeploy {
  uint64_t token = 0;
  std::string name;
  duration wait{};
  TROUPE_MESSAGE(redeploy, token, name, wait)
  bool operator==(const redeploy&) const = default;
};

/// To any deployer: serve this model no more. What was accepted is still answered.
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

/// To any deployer: this node takes nothing new, finishes what it has, leaves the cluster, and its process
/// ends; as on SIGTERM. The reply says that it has begun; a `wait` is the asker's to do.
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
  std::string detail;  ///< one sentence for whoever asked; of a failure: which node, and why
  TROUPE_MESSAGE(change_reply, token, ok, complete, revision, detail)
  bool operator==(const change_reply&) const = default;
};

}  // namespace troupe
