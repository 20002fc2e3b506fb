#include "policies/matchmaking/quarantine.hpp"

#include <algorithm>
#include <map>

namespace troupe {
namespace {

bool may_retry(const poison_retry& r, const slot_table& slots, slot_id id, const slot_record& on) {
  return !slots.is_out(id) && on.accepts && on.has(r.model);
}

}  // namespace

void quarantine::add(const poison_retry& r) {
  withdraw(r.model);
  waiting_.push_back(r);
}

void quarantine::withdraw(model_id model) {
  std::erase_if(waiting_, [&](const poison_retry& r) { return r.model == model; });
}

void quarantine::remove_model(model_id model) {
  withdraw(model);
  if (node_ && node_->runs == model) end_run();
}

void quarantine::forget_queues(node_id node, incarnation_id incarnation) {
  std::erase_if(waiting_, [&](const poison_retry& r) {
    return r.owner.node == node && r.owner.incarnation == incarnation;
  });
}

void quarantine::forget_node(node_id node, incarnation_id incarnation) {
  if (node_ && node_->node == node && node_->incarnation == incarnation) node_.reset();
}

void quarantine::clear() {
  waiting_.clear();
  node_.reset();
}

quarantine::step quarantine::advance(const slot_table& slots) {
  step out;
  if (node_ ? node_->runs.has_value() : waiting_.empty()) return out;
  auto next = next_retry(slots);
  if (node_ && !next) end(slots, out.put_back);
  if (!node_) {
    begin(slots, out.taken);
    next = next_retry(slots);
  }
  if (!next) return out;
  for (const auto& [id, s] : slots)
    if (holds(s.worker) && !s.idle()) return out;
  const auto [position, at] = *next;
  out.granted.emplace(waiting_[position], at);
  node_->runs = waiting_[position].model;
  node_->slot = at;
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(position));
  return out;
}

/// Position of the first waiting retry that can run on the node in quarantine, and the lowest slot for it.
std::optional<std::pair<size_t, slot_id>> quarantine::next_retry(const slot_table& slots) const {
  if (!node_) return {};
  for (size_t i = 0; i < waiting_.size(); ++i) {
    std::optional<slot_id> lowest;
    for (const auto& [id, s] : slots)
      if (holds(s.worker) && may_retry(waiting_[i], slots, id, s)) lowest = std::min(lowest.value_or(id), id);
    if (lowest) return std::pair(i, *lowest);
  }
  return {};
}

void quarantine::end(const slot_table& slots, std::vector<slot_id>& put_back) {
  for (const auto& [id, s] : slots)
    if (s.promised && holds(s.worker)) return;
  for (const auto& [id, s] : slots)
    if (holds(s.worker) && !slots.is_out(id) && s.accepts) put_back.push_back(id);
  node_.reset();
}

void quarantine::begin(const slot_table& slots, std::vector<slot_id>& taken) {
  const auto ordered = slots.sorted();
  std::map<node_id, size_t> busy;
  for (const auto& [id, s] : slots) busy[s.worker.node] += s.orders.size() + s.promised;
  const slot_record* best = nullptr;
  for (const auto& r : waiting_) {
    for (const auto id : ordered) {
      const auto& s = *slots.find(id);
      if (may_retry(r, slots, id, s) && (best == nullptr || busy[s.worker.node] < busy[best->worker.node]))
        best = &s;
    }
    if (best != nullptr) break;
  }
  if (best == nullptr) return;
  node_ = {best->worker.node, best->worker.incarnation, {}, {}};
  for (const auto id : ordered)
    if (holds(slots.find(id)->worker) && !slots.is_out(id)) taken.push_back(id);
}

}  // namespace troupe
