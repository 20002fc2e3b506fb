// The kinds of actors that there are: one table, from which nodes spawn them and documentation lists them.
#pragma once
#include <span>
#include <string>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

/// Every role once; those with a spawn function in the order in which a node spawns them.
std::span<const actor_kind> actor_kinds();

/// Adds all actors that live in groups to the node.
void spawn_actors(const spawn_context& node);

/// The table as Markdown: name, what there is one for each of, what it does, its commands. A row a line,
/// with a header.
std::string actor_kind_table();

}  // namespace troupe
