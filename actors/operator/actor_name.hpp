// Names of actors for operators: "gpu_worker/3@left"; model queues also by model, "model_queue/mlp@head".
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "messages/cluster/cluster.hpp"
#include "messages/common/ids.hpp"

namespace troupe {

std::string actor_name(const cluster_spec& cluster, const address& a);

/// Facts by which a name is resolved.
struct name_lookup {
  /// The model of that name, if there is one.
  std::function<std::optional<model_id>(std::string_view)> model;
  /// Whether a node may have that actor, as in actors/kinds/registry.hpp.
  bool (*may_run_on)(const cluster_spec& cluster, node_id node, role kind, uint32_t index);
  /// The leader. Called only where a name depends on it; empty: nobody knows.
  std::function<node_id()> leader = {};
};

/// The actor of that name, or one sentence about the error. The index may be omitted if it is 0, the node if
/// only one node can have such an actor; of model queues and rank arbiters the leader's is meant. The
/// existence of the actor is not checked.
std::variant<address, std::string> parse_actor_name(std::string_view text, const cluster_spec& cluster,
                                                    const name_lookup& lookup);

}  // namespace troupe
