// The kinds of actors: one list, from which the enum, the names and the tables of kinds derive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

/// ROLE(name, number), in the order in which a node spawns them. The number is the role on the wire: a new
/// role takes the next one, and no number ever changes. Each role needs `<name>_commands` in
/// messages/<subject>/commands.hpp and `<name>_actor_kind` in actors/kinds/<name>.cpp.
#define TROUPE_ROLES(ROLE)  \
  ROLE(gateway, 1)          \
  ROLE(llm_gateway, 10)     \
  ROLE(rank_arbiter, 3)     \
  ROLE(model_queue, 2)      \
  ROLE(gpu_worker, 4)       \
  ROLE(llm_router, 12)      \
  ROLE(llm_engine, 11)      \
  ROLE(parameter_pool, 13)  \
  ROLE(scale_planner, 16)   \
  ROLE(parameter_shard, 14) \
  ROLE(chain_link, 15)      \
  ROLE(placer, 9)           \
  ROLE(extension, 8)        \
  ROLE(node, 0)             \
  ROLE(deployer, 7)         \
  ROLE(console, 5)          \
  ROLE(metrics, 6)

/// Kind of an actor. A role and an index name an actor on its node.
#define TROUPE_ROLE_VALUE(name, number) name = (number),
enum class role : uint16_t { TROUPE_ROLES(TROUPE_ROLE_VALUE) };
#undef TROUPE_ROLE_VALUE

/// Roles are numbered from 0 without gaps.
#define TROUPE_ROLE_ONE(name, number) +1
inline constexpr size_t role_count = 0 TROUPE_ROLES(TROUPE_ROLE_ONE);
#undef TROUPE_ROLE_ONE

std::string_view to_string(role r);
bool parse_role(std::string_view name, role& out);

}  // namespace troupe
