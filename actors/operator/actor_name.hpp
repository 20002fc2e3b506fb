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

/// The model of that name, if there is one.
using model_finder = std::function<std::optional<model_id>(std::string_view)>;

/// The actor of that name, or one sentence about the error. The index may be omitted if it is 0, the node if
/// only one node can have such an actor. The existence of the actor is not checked.
std::variant<address, std::string> parse_actor_name(std::string_view text, const cluster_spec& cluster,
                                                    const model_finder& models);

}  // namespace troupe
