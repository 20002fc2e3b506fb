// Commands whose change is decided, and whose client waits until it is complete.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/deployment/deployment.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"

namespace troupe {

/// A wait ends once the change is complete, has failed or was undone by a later one, or at its bound.
class pending_changes {
 public:
  using answer = std::function<void(change_reply)>;

  /// `cluster` outlives it. `self`: the node that decides.
  pending_changes(const cluster_spec& cluster, node_id self, size_t limit)
      : cluster_(cluster), self_(self), limit_(limit) {}

  bool full() const { return waiting_.size() >= limit_; }
  bool empty() const { return waiting_.empty(); }
  /// `line`: the line of the change. Requires: not full.
  void add(const deployment& line, time_point until, answer reply);
  /// Moves out the commands whose wait has ended, with their replies (without token).
  std::vector<std::pair<answer, change_reply>> take_ended(const deployment_table& table,
                                                          const deployment_progress& progress,
                                                          time_point now);
  /// The earliest bound; `never` if no command waits.
  time_point next_due() const;
  /// Moves out all commands.
  std::vector<answer> take_all();

 private:
  struct pending {
    model_id model;
    deployment_state wanted;
    uint32_t joining;  ///< domain to which the model is to move; no_domain: none
    time_point until;
    answer reply;
  };

  change_reply status_of_change(const pending& p, const deployment& line,
                                const deployment_progress& progress) const;

  const cluster_spec& cluster_;
  const node_id self_;
  const size_t limit_;
  std::vector<pending> waiting_;  ///< in the order of `add`
};

}  // namespace troupe
