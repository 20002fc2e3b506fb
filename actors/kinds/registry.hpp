// The registry of actor kinds: one table, from which nodes spawn actors and the documentation lists them.
#pragma once
#include <span>
#include <string>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

/// Every role once. Kinds with a spawn function come in the order in which a node spawns them.
std::span<const actor_kind> actor_kinds();

/// Adds all actors that live in groups to the node.
void spawn_actors(const spawn_context& node);

/// The table as Markdown, with a header: name, one_per, does, commands.
std::string actor_kind_table();

}  // namespace troupe
