#include "policies/cluster/deployment_progress.hpp"

#include <algorithm>

namespace troupe {

void deployment_progress::up(node_id node, incarnation_id incarnation) {
  auto& n = nodes_[node];
  if (n.incarnation != incarnation) n = {incarnation, false, {}};
  n.is_up = true;
}

void deployment_progress::down(node_id node, incarnation_id incarnation) {
  if (const auto n = nodes_.find(node); n != nodes_.end() && n->second.incarnation <= incarnation)
    nodes_.erase(n);
}

void deployment_progress::done(node_id node, incarnation_id incarnation, const deployment_part& part) {
  auto& n = nodes_[node];
  if (n.incarnation > incarnation) return;
  if (n.incarnation < incarnation) n = {incarnation, false, {}};
  auto& known = n.parts[part.model];
  if (known.revision <= part.revision) known = part;
}

std::optional<node_id> deployment_progress::missing(const deployment& line) const {
  for (const auto& [id, n] : nodes_) {
    if (!n.is_up) continue;
    const auto part = n.parts.find(line.model);
    if (part == n.parts.end() || part->second.revision != line.revision || !part->second.problem.empty())
      return id;
  }
  return {};
}

bool deployment_progress::complete(const deployment& line) const {
  const auto where = line.joining == no_domain ? line.domain : line.joining;
  const auto has_it = [&](const auto& n) {
    const auto worker = workers_.find(n.first);
    return n.second.is_up && worker != workers_.end() && worker->second == where;
  };
  return !missing(line) &&
         (line.wanted != deployment_state::deployed || std::any_of(nodes_.begin(), nodes_.end(), has_it));
}

std::optional<deployment_progress::deployment_problem> deployment_progress::problem(
    const deployment& line) const {
  for (const auto& [id, n] : nodes_) {
    const auto part = n.parts.find(line.model);
    if (n.is_up && part != n.parts.end() && part->second.revision == line.revision &&
        !part->second.problem.empty())
      return deployment_problem{id, part->second.problem};
  }
  return {};
}

}  // namespace troupe
