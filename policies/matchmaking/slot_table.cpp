#include "policies/matchmaking/slot_table.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool slot_record::has(model_id model) const {
  return std::find(models.begin(), models.end(), model) != models.end();
}

bool slot_record::finish(const batch_done& d) {
  const auto done = std::find_if(orders.begin(), orders.end(), [&](const slot_order& x) {
    return x.batch == d.batch && x.model == d.model;
  });
  if (done == orders.end()) {
    early = d;
    return false;
  }
  const auto planned = done->free_at;
  orders.erase(done);
  if (ran(d.refused)) busy += d.finished_at - d.started_at;
  if (!orders.empty() && d.refused == refusal::none && d.finished_at > planned)
    orders.back().free_at += d.finished_at - planned;
  return true;
}

slot_record* slot_table::find(slot_id id) {
  const auto it = records_.find(id);
  return it == records_.end() ? nullptr : &it->second;
}

const slot_record* slot_table::find(slot_id id) const {
  const auto it = records_.find(id);
  return it == records_.end() ? nullptr : &it->second;
}

std::vector<slot_id> slot_table::sorted() const {
  std::vector<slot_id> ids;
  ids.reserve(records_.size());
  for (const auto& [id, s] : records_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

slot_record& slot_table::add(slot_id id, const address& worker, std::vector<model_id> models) {
  const auto [it, is_new] = records_.try_emplace(id);
  if (is_new && !is_out(id)) ++in_service_;
  it->second = {worker, std::move(models), {}, {}, false, false, {}};
  return it->second;
}

void slot_table::remove(slot_id id) {
  if (records_.erase(id) > 0 && !is_out(id)) --in_service_;
}

void slot_table::clear() {
  records_.clear();
  in_service_ = 0;
}

bool slot_table::can_rest(const slot_record& s, time_point now) const {
  return std::ranges::all_of(s.models, [&](model_id model) {
    return std::ranges::any_of(records_, [&](const auto& r) {
      const auto& [id, other] = r;
      return other.worker.node != s.worker.node && other.accepts && other.rests_until <= now && !is_out(id) &&
             other.has(model);
    });
  });
}

std::vector<slot_id> slot_table::of(node_id node, incarnation_id incarnation) const {
  std::vector<slot_id> ids;
  for (const auto& [id, s] : records_)
    if (s.worker.node == node && s.worker.incarnation == incarnation) ids.push_back(id);
  return ids;
}

void slot_table::begin_term() {
  for (auto& [id, s] : records_) {
    s.orders.clear();
    s.early.reset();
    s.promised = s.accepts = false;
  }
}

bool slot_table::set_service(slot_id id, bool in) {
  if (!(in ? out_.erase(id) > 0 : out_.insert(id).second)) return false;
  if (contains(id)) in ? ++in_service_ : --in_service_;
  return true;
}

std::map<slot_id, std::span<const model_id>> slot_table::models_in_service() const {
  std::map<slot_id, std::span<const model_id>> out;
  for (const auto& [id, s] : records_)
    if (!is_out(id)) out.emplace(id, s.models);
  return out;
}

void slot_table::offer(slot_id id, matchmaking_policy& to, time_point now) const {
  const auto& s = records_.at(id);
  to.add_slot(id, s.promised ? never : s.free_at(now));
  to.set_models(id, s.models);
  to.set_rows(id, s.rows());
}

}  // namespace troupe
