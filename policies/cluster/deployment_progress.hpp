// Progress of deployments over the nodes of a cluster.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "messages/deployment/deployment.hpp"

namespace troupe {

/// A line of the log is complete once every node that is up has applied it. Dead nodes are not waited for. A
/// deployment or a move also needs a worker that has the model in the target domain.
class deployment_progress {
 public:
  /// `workers`: the nodes with slots, and their scheduling domains.
  explicit deployment_progress(std::map<node_id, uint32_t> workers) : workers_(std::move(workers)) {}

  void up(node_id node, incarnation_id incarnation);
  /// This incarnation has ended. A later one that is already up stays up.
  void down(node_id node, incarnation_id incarnation);
  /// May be called before the node is up.
  void done(node_id node, incarnation_id incarnation, const deployment_part& part);
  /// Forgets all nodes and their reports.
  void forget_all() { nodes_.clear(); }

  bool complete(const deployment& line) const;
  struct deployment_problem {
    node_id node;
    std::string what;
  };
  /// The first node, by id, that cannot apply the line.
  std::optional<deployment_problem> problem(const deployment& line) const;
  /// The first node that is up and has not applied the line.
  std::optional<node_id> missing(const deployment& line) const;

 private:
  struct member {
    incarnation_id incarnation;
    bool is_up = false;
    std::map<model_id, deployment_part> parts;
  };
  std::map<node_id, uint32_t> workers_;
  std::map<node_id, member> nodes_;
};

}  // namespace troupe
