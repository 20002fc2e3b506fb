// scheduler_tracker tells a gateway which node has the model queues, and whether it is up.
#pragma once
#include <unordered_map>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// Without standbys the scheduler is one fixed node. With standbys it is the leader of the latest term, once
/// the leader's incarnation is up; until then requests wait as long as any candidate is up.
class scheduler_tracker {
 public:
  /// The consequence of an event for the requests in flight.
  enum class effect {
    none,
    resubmit,  ///< a scheduler came up: it gets all requests without an offered output
    lost       ///< no scheduler is up or expected: these requests fail
  };

  /// `candidates`: the nodes that can lead; empty: `scheduler` always leads.
  explicit scheduler_tracker(node_id scheduler, std::vector<node_id> candidates = {});

  node_id scheduler() const { return scheduler_; }
  /// Requests can be submitted now.
  bool up() const { return up_; }
  /// Requests can be accepted: a scheduler is up or expected.
  bool accepts(time_point now) const { return up_ || now < expected_until_ || !candidates_up_.empty(); }
  /// The message comes from a queue on a node that does not lead.
  bool outdated(const address& from) const;

  effect on_node_up(node_id node, incarnation_id incarnation);
  effect on_node_down(node_id node, incarnation_id incarnation);
  /// A leaving scheduler finishes its requests, unless a standby takes over.
  effect on_node_leaving(node_id node, incarnation_id incarnation);
  /// Of two leaderships the later one counts.
  effect on_leadership(const leadership& latest);
  /// The own node begins a new incarnation: no node is up until its next node_up, but the scheduler is
  /// expected until `expected_until`. The leadership stays.
  void clear(time_point expected_until);

 private:
  effect update();

  const std::vector<node_id> candidates_;
  node_id scheduler_;
  bool up_ = false;
  time_point expected_until_ = long_ago;                       ///< once cleared, until a candidate comes up
  leadership leadership_;                                      // with standbys
  std::unordered_map<node_id, incarnation_id> candidates_up_;  // and not leaving
};

}  // namespace troupe
