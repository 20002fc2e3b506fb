// How far the nodes of a cluster have come with its deployments.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "messages/deployment/deployment.hpp"

namespace troupe {

/// A line of the log is complete once every node that is up has done its part of it. The dead are not waited
/// for: what they had is over. What is to be deployed, or to be moved, needs a worker that has it there, too.
class deployment_progress {
 public:
  /// `workers`: the nodes with slots, and their scheduling domains.
  explicit deployment_progress(std::map<node_id, uint32_t> workers) : workers_(std::move(workers)) {}

  void up(node_id node, incarnation_id incarnation);
  /// This incarnation is over. A later one that is up already stays so.
  void down(node_id node, incarnation_id incarnation);
  /// May be heard before the node is up.
  void done(node_id node, incarnation_id incarnation, const deployment_part& part);
  /// Nobody is up, nothing was heard.
  void forget_all() { nodes_.clear(); }

  bool complete(const deployment& line) const;
  struct deployment_problem {
    node_id node;
    std::string what;
  };
  /// The first node, by id, that cannot do its part.
  std::optional<deployment_problem> problem(const deployment& line) const;
  /// The first node that is up and has not done its part.
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
