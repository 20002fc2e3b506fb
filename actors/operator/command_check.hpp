// Checks of commands against the protocol of their actor, for Troupe's actors and for those of plug-ins.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

/// As `problem_with` of messages/commands/command_schema.hpp; an actor of a plug-in has its own protocol
/// (actors/extension/extension.hpp).
std::string problem_with(const cluster_spec& cluster, const address& to, const command& c);

/// The schema of the actor's commands, likewise.
nlohmann::ordered_json command_schema(const cluster_spec& cluster, const address& to);

}  // namespace troupe
