#include "policies/batching/decision_log.hpp"

namespace troupe {

void decision_log::end(batch_id id, batch_status how, refusal why, time_point started_at,
                       time_point finished_at) {
  const auto at = place_of(id);
  if (!at) return;
  auto& b = batches_[*at];
  b.how = how;
  b.why = why;
  b.started_at = started_at;
  b.finished_at = finished_at;
}

void decision_log::begin(const struct grant& g, const batch_order& o, uint32_t rows, time_point end,
                         time_point now) {
  granted_batch b{};
  b.id = o.batch;
  b.sequence = g.sequence;
  b.slot = g.slot;
  b.at = now;
  b.free_at = g.free_at;
  b.rows = rows;
  b.requests = static_cast<uint32_t>(o.requests.size());
  b.alone = g.alone;
  b.exec_at = o.exec_at;
  b.start_by = o.start_by;
  b.end = end;
  begin(b);
}

void decision_log::end(const batch_done& d, time_point now) {
  if (d.refused == refusal::none)
    end(d.batch, batch_status::done, d.refused, d.started_at, d.finished_at);
  else if (d.refused == refusal::preempted)
    end(d.batch, batch_status::preempted, d.refused, d.started_at, d.finished_at);
  else
    end(d.batch, batch_status::refused, d.refused, never, now);
}

void decision_log::lose(batch_id id, bool crashed, time_point now) {
  end(id, crashed ? batch_status::worker_crashed : batch_status::worker_lost, refusal::none, never, now);
}

std::vector<decision_log::granted_request> decision_log::grants_of(uint32_t handle, time_point since) const {
  std::vector<granted_request> out;
  for (size_t i = 0; i < granted_.size(); ++i) {
    if (granted_[i].handle != handle) continue;
    if (const auto* b = batch(granted_[i].batch); b != nullptr && b->at >= since) out.push_back(granted_[i]);
  }
  return out;
}

std::optional<decision_log::dropped_request> decision_log::drop_of(request_id id) const {
  for (size_t i = dropped_.size(); i-- > 0;)
    if (dropped_[i].what.id == id) return dropped_[i];
  return {};
}

std::optional<size_t> decision_log::place_of(batch_id id) const {
  if (batches_.size() == 0 || id > batches_[batches_.size() - 1].id) return {};
  // Its place if no gaps follow it; with gaps it is later.
  const auto behind = batches_[batches_.size() - 1].id.value - id.value;
  size_t low = behind < batches_.size() ? batches_.size() - 1 - behind : 0, high = batches_.size();
  if (batches_[low].id == id) return low;
  while (low < high) {
    const auto middle = (low + high) / 2;
    if (batches_[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < batches_.size() && batches_[low].id == id ? std::optional(low) : std::nullopt;
}

const decision_log::granted_batch* decision_log::batch(batch_id id) const {
  const auto at = place_of(id);
  return at ? &batches_[*at] : nullptr;
}

std::vector<decision_log::offer> decision_log::offers(time_point from, time_point until) const {
  std::vector<offer> out;
  for (size_t i = 0; i < offers_.size() && offers_[i].at < until; ++i) {
    if (offers_[i].at < from) out.clear();  // it replaced the earlier ones
    out.push_back(offers_[i]);
  }
  return out;
}

time_point decision_log::offers_since() const {
  return offers_.size() < offers_.capacity() || offers_.size() == 0 ? long_ago : offers_[0].at;
}

}  // namespace troupe
