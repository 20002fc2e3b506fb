// What an arbiter does when the leader changes.
#include <algorithm>

#include "actors/common/planted_bug.hpp"
#include "actors/tensor/rank_arbiter.hpp"

namespace troupe {

std::string_view rank_arbiter::state() const {
  const bool mine = self_.node == leadership_.scheduler && self_.incarnation == leadership_.incarnation;
  return open_ ? "serving" : mine && leadership_.term != term_id{} ? "taking over" : "standing by";
}

/// Slots stay known; they must hand over before they get anything.
void rank_arbiter::start_over(time_point now) {
  for (auto& [id, s] : slots_) {
    policy_->remove_slot(id);
    s.orders.clear();
    s.early.reset();
    s.promised = false;
  }
  for (const auto& [id, q] : queues_) policy_->remove_model(id, now);
  queues_.clear();
  poison_retries_.clear();
  loads_ = {};
  quarantine_.reset();
  handed_.clear();
  open_ = !elected_;
  begin_advice();
}

void rank_arbiter::on_leadership(const leadership& latest, time_point now) {
  if (!elected_ || !latest.later_than(leadership_)) return;
  leadership_ = latest;
  start_over(now);
  open_if_known(now);
}

/// Its slots may run something, also those of which it has not said yet that they are ready.
void rank_arbiter::on_node_up(const node_up& n) {
  if (!elected_) return;
  const auto& domains = domain_.of_slots;
  for (uint32_t i = 0; i < nodes_of_slots_.size(); ++i)
    if (nodes_of_slots_[i] == n.node && (domains.empty() || domains[i] == self_.index))
      workers_[slot_id{i}] = {n.node, n.incarnation, role::gpu_worker, i};
}

void rank_arbiter::on_handover(handover& h, time_point now) {
  if (h.term != leadership_.term || self_.node != leadership_.scheduler ||
      self_.incarnation != leadership_.incarnation)
    return;
  if (const auto known = handed_.find(h.slot); known != handed_.end() && known->second.worker == h.worker)
    return;
  uint32_t rows = 0;
  for (const auto& r : h.requests) rows += r.rows;
  handed_[h.slot] = {h.worker, h.batch, h.model, rows};
  if (const auto it = slots_.find(h.slot); it != slots_.end() && it->second.worker == h.worker) {
    if (h.batch != batch_id{}) it->second.orders.push_back({h.batch, h.model, never, rows});
    if (open_) begin_service(h.slot, it->second, now);
  }
  if (h.batch != batch_id{}) send(on_node(self_.node, role::model_queue, h.model.value), std::move(h));
  open_if_known(now);
}

/// A slot that begins late, or whose worker does.
void rank_arbiter::begin_service(slot_id id, slot& s, time_point now) {
  const auto h = handed_.find(id);
  const bool handed = h != handed_.end() && h->second.worker == s.worker;
  if (handed && h->second.batch != batch_id{} && s.orders.empty())
    s.orders.push_back({h->second.batch, h->second.model, never, h->second.rows});
  const bool suspended = out_.contains(id) || (quarantine_ && quarantine_->holds(s.worker));
  if (suspended || !accepts_orders(id, s.worker)) return;
  policy_->add_slot(id, s.free_at(now));
  policy_->set_models(id, s.models);
  policy_->set_rows(id, s.rows());
}

/// In this term; without standbys everybody always does.
bool rank_arbiter::accepts_orders(slot_id id, const address& worker) const {
  if (!elected_) return true;
  if (!open_) return false;
  const auto h = handed_.find(id);
  return (h != handed_.end() && h->second.worker == worker) || planted(bug::hasty_leader);
}

void rank_arbiter::open_if_known(time_point now) {
  if (open_ || self_.node != leadership_.scheduler || self_.incarnation != leadership_.incarnation) return;
  const bool known = std::all_of(workers_.begin(), workers_.end(), [&](const auto& w) {
    const auto h = handed_.find(w.first);
    return h != handed_.end() && h->second.worker == w.second;
  });
  if (!known && !planted(bug::hasty_leader)) return;
  open_ = true;
  begin_advice();
  std::vector<slot_id> ids;  // in a fixed order, for determinism
  for (const auto& [id, s] : slots_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const auto id : ids) begin_service(id, slots_[id], now);
}

void rank_arbiter::forget_workers(node_id node, incarnation_id incarnation, time_point now) {
  const auto of_node = [&](const address& w) { return w.node == node && w.incarnation == incarnation; };
  std::erase_if(handed_, [&](const auto& h) { return of_node(h.second.worker); });
  std::erase_if(workers_, [&](const auto& w) { return of_node(w.second); });
  open_if_known(now);
}

}  // namespace troupe
