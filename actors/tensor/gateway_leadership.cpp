// Whom a gateway sends its requests to, and what it does when that one dies.
#include <algorithm>

#include "actors/tensor/gateway.hpp"

namespace troupe {

void gateway::on_node_up(const node_up& n) {
  const auto& candidates = options_.leader_candidates;
  if (candidates.empty()) {
    scheduler_up_ = scheduler_up_ || n.node == scheduler_;
  } else if (std::find(candidates.begin(), candidates.end(), n.node) != candidates.end()) {
    candidates_up_[n.node] = n.incarnation;
    update_scheduler_state();
  }
}

/// What is pulled from a dead worker ends as a failed pull; what waited there is the model queue's to
/// resubmit, unless it had run.
void gateway::on_node_down(const node_down& d, time_point now) {
  run_again(d.node, d.incarnation);
  if (options_.leader_candidates.empty()) {
    if (d.node != scheduler_) return;
    scheduler_up_ = false;
    return fail_all(failure::scheduler_lost, now);
  }
  const auto it = candidates_up_.find(d.node);
  const bool left = d.node == scheduler_ && d.incarnation == leadership_.incarnation;
  if (!left && (it == candidates_up_.end() || it->second != d.incarnation)) return;
  if (it != candidates_up_.end() && it->second == d.incarnation) candidates_up_.erase(it);
  update_scheduler_state();
  if (candidates_up_.empty()) fail_all(failure::scheduler_lost, now);
}

/// A scheduler that leaves finishes what it has, unless a standby takes over.
void gateway::on_node_leaving(const node_leaving& n) {
  if (options_.leader_candidates.empty()) {
    if (n.node == scheduler_) scheduler_up_ = false;
    return;
  }
  if (const auto it = candidates_up_.find(n.node); it != candidates_up_.end() && it->second == n.incarnation)
    candidates_up_.erase(it);
  update_scheduler_state();
}

void gateway::on_leadership(const leadership& latest) {
  if (!latest.later_than(leadership_)) return;
  leadership_ = latest;
  scheduler_ = latest.scheduler;
  scheduler_up_ = false;
  update_scheduler_state();
}

/// Where standbys are.
void gateway::update_scheduler_state() {
  const auto it = candidates_up_.find(leadership_.scheduler);
  const bool up =
      leadership_.term != term_id{} && it != candidates_up_.end() && it->second == leadership_.incarnation;
  if (up && !scheduler_up_) submit_again();
  scheduler_up_ = up;
}

/// Everything without an outcome. What a worker still runs of it the new scheduler knows from the worker.
void gateway::submit_again() {
  for (auto& m : models_) m.next = {};
  std::vector<request_id> ids;
  for (const auto& [id, f] : in_flight_.entries())
    if (!f.output) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [this](request_id a, request_id b) {  // as they came
    const auto &x = in_flight_.find(a)->asked, &y = in_flight_.find(b)->asked;
    return std::pair(x.arrival, a) < std::pair(y.arrival, b);
  });
  for (const auto id : ids) {
    auto& r = in_flight_.find(id)->asked;
    ++r.attempt;
    models_[r.model.value].next.requests.push_back(r);
  }
  submitted_again_ += ids.size();
}

/// The queue of a scheduler that is no longer the leader.
bool gateway::outdated(const address& from) const {
  if (options_.leader_candidates.empty() || from.kind != role::model_queue) return false;
  return from.node != scheduler_ ||
         (from.incarnation != incarnation_id{} && from.incarnation != leadership_.incarnation);
}

}  // namespace troupe
