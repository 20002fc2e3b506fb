#include "policies/matchmaking/slot_handover.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool slot_handover::follow(const leadership& latest) {
  if (!options_.elected || !latest.later_than(leader_)) return false;
  leader_ = latest;
  return true;
}

void slot_handover::begin_term() {
  handed_.clear();
  open_ = !options_.elected;
}

bool slot_handover::open_if_known(const address& self) {
  if (open_ || !leads(self)) return false;
  const bool known = std::all_of(workers_.begin(), workers_.end(),
                                 [&](const auto& w) { return handed_over(w.first, w.second); });
  open_ = known || options_.hasty;
  return open_;
}

void slot_handover::on_node_up(node_id node, incarnation_id incarnation) {
  for (const auto& [slot, where] : options_.nodes)
    if (where == node) workers_[slot] = {node, incarnation, role::gpu_worker, slot.value};
}

void slot_handover::on_slot_ready(slot_id slot, const address& worker) {
  if (options_.elected) workers_[slot] = worker;
}

void slot_handover::on_node_down(node_id node, incarnation_id incarnation) {
  const auto of_node = [&](const address& w) { return w.node == node && w.incarnation == incarnation; };
  std::erase_if(handed_, [&](const auto& h) { return of_node(h.second.worker); });
  std::erase_if(workers_, [&](const auto& w) { return of_node(w.second); });
}

bool slot_handover::on_handover(const handover& h, const address& self) {
  if (h.term != leader_.term || !leads(self) || handed_over(h.slot, h.worker)) return false;
  uint32_t rows = 0;
  for (const auto& r : h.requests) rows += r.rows;
  handed_[h.slot] = {h.worker, h.batch, h.model, rows};
  return true;
}

void slot_handover::on_done(const batch_done& d) {
  if (const auto h = handed_.find(d.slot); h != handed_.end() && h->second.batch == d.batch)
    h->second.batch = {};
}

bool slot_handover::accepts(slot_id slot, const address& worker) const {
  if (!options_.elected) return true;
  return open_ && (handed_over(slot, worker) || options_.hasty);
}

std::optional<slot_order> slot_handover::still_runs(slot_id slot, const address& worker) const {
  if (!handed_over(slot, worker)) return {};
  const auto& e = handed_.at(slot);
  if (e.batch == batch_id{}) return {};
  return slot_order{e.batch, e.model, never, e.rows};
}

bool slot_handover::handed_over(slot_id slot, const address& worker) const {
  const auto h = handed_.find(slot);
  return h != handed_.end() && h->second.worker == worker;
}

}  // namespace troupe
