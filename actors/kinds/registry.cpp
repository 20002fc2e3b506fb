#include "actors/kinds/registry.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "messages/commands/command_schema.hpp"

namespace troupe {

/// KIND(role, one_per, does), fields of `actor_kind`: an actor that lives in a group. `spawn_<role>` in
/// actors/kinds/<role>.cpp adds it to a node. Nodes spawn them in this order.
#define TROUPE_GROUP_ACTORS(KIND)                                                                         \
  KIND(gateway, "gateway node", "owns the outcome of every request it accepted, and the ledger")          \
  KIND(llm_gateway, "gateway node",                                                                       \
       "owns the outcome of every generation request, and its ledger; passes tokens on to clients")       \
  KIND(rank_arbiter, "scheduling domain",                                                                 \
       "matches candidates to execution slots; handles batches, not requests; advises on the number of "  \
       "slots for the load")                                                                              \
  KIND(model_queue, "model",                                                                              \
       "queues requests, keeps one candidate registered with the arbiter, forms the batch when a "        \
       "grant arrives")                                                                                   \
  KIND(gpu_worker, "execution slot",                                                                      \
       "pulls inputs while the previous batch runs, runs batches, offers outputs")                        \
  KIND(llm_router, "`[[llm]]` on every leader candidate",                                                 \
       "places each request on an engine, and migrates it later if that is better")                       \
  KIND(llm_engine, "engine of an `[[llm]]`",                                                              \
       "continuous batching on a device: steps of prefills and decodes, paged KV cache, adapters loaded " \
       "on demand")                                                                                       \
  KIND(placer, "cluster with a `[placer]`",                                                               \
       "searches every epoch for a better partition of the models over the domains, and moves them")      \
  KIND(extension, "`[[actor]]` of the cluster file", "runs the actor of a plug-in")

/// KIND likewise: a CAF actor of its own, spawned by node_runtime.cpp or tools/node/operator_actors.cpp.
#define TROUPE_CAF_ACTORS(KIND)                                                                         \
  KIND(node, "process",                                                                                 \
       "connects to its peers, is the only failure detector, announces `node_up` and `node_down` once " \
       "for each incarnation, drains")                                                                  \
  KIND(deployer, "node", "keeps the deployment log, which the leader's deployer writes")                \
  KIND(console, "node",                                                                                 \
       "serves the operator's commands; forwards those for actors of another node to its console")      \
  KIND(metrics, "node",                                                                                 \
       "collects the metrics of its node's actors for `troupe status` and, on gateway nodes, for "      \
       "Prometheus")

#define TROUPE_DECLARE_SPAWN(kind, one_per, does) void spawn_##kind(const spawn_context& node);
TROUPE_GROUP_ACTORS(TROUPE_DECLARE_SPAWN)
#undef TROUPE_DECLARE_SPAWN

namespace {

#define TROUPE_GROUP_KIND(kind, one_per, does) {role::kind, one_per, does, spawn_##kind},
#define TROUPE_CAF_KIND(kind, one_per, does) {role::kind, one_per, does},
constexpr actor_kind kinds[] = {TROUPE_GROUP_ACTORS(TROUPE_GROUP_KIND) TROUPE_CAF_ACTORS(TROUPE_CAF_KIND)};
#undef TROUPE_GROUP_KIND
#undef TROUPE_CAF_KIND

consteval bool lists_every_role_once() {
  for (size_t r = 0; r < role_count; ++r) {
    size_t found = 0;
    for (const auto& k : kinds) found += k.kind == static_cast<role>(r);
    if (found != 1) return false;
  }
  return true;
}
static_assert(lists_every_role_once());

}  // namespace

std::span<const actor_kind> actor_kinds() { return kinds; }

void spawn_actors(const spawn_context& node) {
  for (const auto& k : kinds)
    if (k.spawn != nullptr) k.spawn(node);
}

std::string actor_kind_table() {
  std::string out = "| actor | one for each | does | commands |\n|---|---|---|---|\n";
  for (const auto& k : kinds) {
    std::string commands;
    const auto schema = command_schema(k.kind);
    for (const auto& [command, _] : schema.items())
      commands += fmt::format("{}`{}`", commands.empty() ? "" : ", ", command);
    if (k.kind == role::extension) commands = "those of its plug-in";
    out += fmt::format("| `{}` | {} | {} | {} |\n", to_string(k.kind), k.one_per, k.does, commands);
  }
  return out;
}

}  // namespace troupe
