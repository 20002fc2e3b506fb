// Whether an actor takes a command, whoever brought the actor.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

/// As `problem_with` of messages/commands/command_schema.hpp; for an actor of a plug-in, as that says.
std::string problem_with(const cluster_spec& cluster, const address& to, const command& c);

/// What this actor can be asked, likewise.
nlohmann::ordered_json command_schema(const cluster_spec& cluster, const address& to);

}  // namespace troupe
