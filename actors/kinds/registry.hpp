// All kinds of actors. TROUPE_ROLES (messages/common/roles.hpp) lists them.
#pragma once
#include <span>
#include <string>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

/// In the order in which a node spawns them.
std::span<const actor_kind* const> actor_kinds();

/// Whether the node may have such an actor, by the cluster file.
bool may_run_on(const cluster_spec& cluster, node_id node, role kind, uint32_t index);

/// Adds all actors that live in groups to the node.
void spawn_actors(const spawn_context& node);

/// A table in Markdown, with a header: name, `one_per`, `does` and commands of each kind.
std::string actor_kind_table();

}  // namespace troupe
