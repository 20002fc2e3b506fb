// model_queues creates and removes the model queues of a scheduling node (the scheduler or a standby), one
// for each deployed model.
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
  /// The references outlive it. New queues take the incarnation of `lane`.
  model_queues(const cluster_spec& cluster, node_id self, const data_lane& lane, post& post);

  /// Spawns the queues of the models of the cluster file.
  void spawn(const spawn_context& node);

  /// Creates, replaces or removes the queue of `line.model` by its line of the deployment log; true if it
  /// created one. A retiring model keeps its queue, which still has requests. Other nodes have no queues.
  bool keep(const deployment& line);

 private:
  std::unique_ptr<actor> make(const deployment& line, outbox& out) const;

  const cluster_spec& cluster_;
  const node_id self_;
  const data_lane& lane_;
  post& post_;
  /// Of the cluster file: one for each length of an encoder, or shape of a model.
  std::map<weights_id, uint32_t> queues_of_files_;
  std::map<model_id, model_spec> queues_;  // definitions of the queues on this node
};

/// True if the arbiter plans the placements of models (Nexus), for which queues report their load.
bool arbiter_places_models(const cluster_spec& cluster);

}  // namespace troupe
