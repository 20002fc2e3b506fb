// The model queues of a node of the scheduler's line: one for each model that is deployed.
#pragma once
#include <map>
#include <memory>

#include "actors/kinds/actor_kind.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/post.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/deployment/deployment.hpp"
#include "transport/data_lane/data_lane.hpp"

namespace troupe {

/// Not thread-safe: used while the node is built, then by its node actor.
class model_queues {
 public:
  /// All outlive it. The lane knows the incarnation that a queue begins in.
  model_queues(const cluster_spec& cluster, node_id self, const data_lane& lane, post& post)
      : cluster_(cluster), self_(self), lane_(lane), post_(post) {}

  /// Spawns the queues of the models of the cluster file.
  void spawn(const spawn_context& node);

  /// Begins or ends the queue of a model, as its line in the log of deployments says; true if one began. A
  /// queue serves until its model is undeployed: a retiring one still has requests.
  bool keep(const deployment& line);

 private:
  std::unique_ptr<actor> make(const deployment& line, outbox& out) const;

  const cluster_spec& cluster_;
  const node_id self_;
  const data_lane& lane_;
  post& post_;
  std::map<model_id, model_spec> queues_;  // that live here
};

/// The arbiter plans where models run, and must know the load for it.
bool arbiter_places_models(const cluster_spec& cluster);

}  // namespace troupe
