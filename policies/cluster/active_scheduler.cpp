#include "policies/cluster/active_scheduler.hpp"

#include <algorithm>

namespace troupe {

active_scheduler::active_scheduler(const cluster_spec& cluster, node_id self)
    : cluster_(cluster),
      self_(self),
      elected_(has_standby(cluster)),
      election_({self, leader_candidates(cluster), cluster.nodes.size(), cluster.limits.takeover,
                 cluster.limits.node_timeout}),
      node_(scheduler_of(cluster)) {}

bool active_scheduler::available() const {
  return elected_ ? election_.has_leader() : node_ == self_ || election_.is_alive(node_);
}

bool active_scheduler::learn(const leadership& latest, time_point now) {
  if (!elected_ || latest.scheduler.value >= cluster_.nodes.size() || !election_.learn(latest, now))
    return false;
  node_ = latest.scheduler;
  return true;
}

bool active_scheduler::ping_due(time_point now) {
  if (!elected_ || !election_.watches() || now < next_ping_) return false;
  next_ping_ = now + election_.beat();
  return true;
}

std::optional<leadership> active_scheduler::decide(time_point now, time_point heard) {
  if (!elected_) return {};
  return election_.decide(now, node_ == self_ ? now : heard);
}

duration active_scheduler::check_interval(duration usual) const {
  return elected_ && may_schedule(self_) ? std::min(usual, election_.beat()) : usual;
}

bool active_scheduler::yields_to(node_id other, bool scheduler_up) const {
  if (other == node_ || self_ == node_) return other == node_;
  if (scheduler_up != available()) return scheduler_up;
  return may_schedule(self_) != may_schedule(other) ? may_schedule(self_) : self_ > other;
}

}  // namespace troupe
