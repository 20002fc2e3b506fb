// A kind of actor, and the arguments of its spawn function.
#pragma once
#include "actors/common/tenant_limiter.hpp"
#include "actors/kinds/host_plan.hpp"
#include "actors/kinds/node_environment.hpp"
#include "actors/llm/catalog.hpp"
#include "actors/runtime/memory_port.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/common/roles.hpp"

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
  troupe::post& post;

  const node_spec& me() const { return cluster.nodes[self.value]; }
  address name(role kind, uint32_t index = 0) const { return {self, incarnation, kind, index}; }
};

struct actor_kind {
  role kind;
  const char* one_per;  ///< unit that has one of these actors: "model"
  const char* does;     ///< purpose in one line, for documentation
  /// Whether this node may have the actor with this index, by the cluster file. Null: every node has one.
  bool (*may_run_on)(const cluster_spec& cluster, node_id node, uint32_t index) = nullptr;
  /// Adds the actors of this kind to groups of `hosts`: those that the cluster file assigns to this node, if
  /// any. Null: a CAF actor of its own, spawned with the node (node_runtime.cpp,
  /// tools/node/operator_actors.cpp).
  void (*spawn)(const spawn_context& node) = nullptr;
};

/// `<role>_actor_kind` for each role, defined in actors/kinds/<role>.cpp.
#define TROUPE_DECLARE_KIND(name, number) extern const actor_kind name##_actor_kind;
TROUPE_ROLES(TROUPE_DECLARE_KIND)
#undef TROUPE_DECLARE_KIND

}  // namespace troupe
