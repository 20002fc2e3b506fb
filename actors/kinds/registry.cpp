#include "actors/kinds/registry.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "messages/commands/command_schema.hpp"

namespace troupe {

std::span<const actor_kind* const> actor_kinds() {
#define TROUPE_KIND_ADDRESS(name, number) &name##_actor_kind,
  static constexpr const actor_kind* kinds[] = {TROUPE_ROLES(TROUPE_KIND_ADDRESS)};
#undef TROUPE_KIND_ADDRESS
  return kinds;
}

bool may_run_on(const cluster_spec& cluster, node_id node, role kind, uint32_t index) {
  for (const auto* k : actor_kinds())
    if (k->kind == kind) return k->may_run_on == nullptr || k->may_run_on(cluster, node, index);
  return false;
}

void spawn_actors(const spawn_context& node) {
  for (const auto* k : actor_kinds())
    if (k->spawn != nullptr) k->spawn(node);
}

std::string actor_kind_table() {
  std::string out = "| actor | one for each | does | commands |\n|---|---|---|---|\n";
  for (const auto* k : actor_kinds()) {
    std::string commands;
    const auto schema = command_schema(k->kind);
    for (const auto& [command, _] : schema.items())
      commands += fmt::format("{}`{}`", commands.empty() ? "" : ", ", command);
    if (k->kind == role::extension) commands = "those of its plug-in";
    out += fmt::format("| `{}` | {} | {} | {} |\n", to_string(k->kind), k->one_per, k->does, commands);
  }
  return out;
}

}  // namespace troupe
