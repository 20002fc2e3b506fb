// An entry of the registry of actor kinds (registry.hpp), and the arguments of its spawn function.
#pragma once
#include "actors/common/tenant_limiter.hpp"
#include "actors/kinds/host_plan.hpp"
#include "actors/kinds/node_environment.hpp"
#include "actors/llm/catalog.hpp"
#include "actors/runtime/memory_port.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

class model_queues;

/// The parts from which a kind spawns its actors on a node. All references outlive the actors, except `env`
/// and `hosts`, which live until the actors are spawned.
struct spawn_context {
  const cluster_spec& cluster;
  node_id self;
  incarnation_id incarnation;
  const node_environment& env;
  memory_port& memory;
  tenant_limiter& tenants;
  llm_catalog& language_models;
  model_queues& queues;
  host_plan& hosts;

  const node_spec& me() const { return cluster.nodes[self.value]; }
  address name(role kind, uint32_t index = 0) const { return {self, incarnation, kind, index}; }
};

/// Adds the actors of one kind to groups of `hosts`: those that the cluster file assigns to this node, if
/// any.
using spawn_function = void (*)(const spawn_context& node);

struct actor_kind {
  role kind;
  const char* one_per;             ///< unit that has one of these actors: "model"
  const char* does;                ///< purpose in one line, for documentation
  spawn_function spawn = nullptr;  ///< null: a CAF actor of its own, spawned with the node
};

}  // namespace troupe
