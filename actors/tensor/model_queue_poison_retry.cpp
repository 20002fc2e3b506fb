// The requests that were with a worker when it died: poison retries run one at a time, until it is known
// which of them kills.
#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "actors/tensor/model_queue.hpp"

namespace troupe {

void model_queue::on_grant_alone(const grant& g, time_point now) {
  poison_retry_offered_ = false;
  give_up_late_poison_retries(now);
  const bool stranger =
      !has_placement(g);  // the arbiter will hear of it too; do not ask for it again at once
  if (stranger) offer_poison_retry_at_ = now + 1ms;
  if (stranger || poison_retries_.empty())
    return send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, {}, g.free_at, true});
  const auto handle = poison_retries_.front();
  poison_retries_.erase(poison_retries_.begin());
  const auto& r = requests_[handle];
  batch_order o;
  o.exec_at = now;
  o.start_by = latest_start(r);
  o.requests = {r};
  batched_rows_ += r.rows;
  const auto end = now + policy_->latency()(r.rows);
  if (log_.on()) {
    log_.grant(handle, r.attempt, batch_id{next_batch_});
    log_batch(g, o, r.rows, end, now);
  }
  order(g, std::move(o), {{}, {handle}, long_ago, true}, end, now);
}

/// A worker died with this batch.
void model_queue::on_batch_lost(batch_id id, const running_batch& batch, bool crashed, time_point now) {
  if (log_.on())
    log_.end(id,
             crashed ? decision_log::batch_status::worker_crashed : decision_log::batch_status::worker_lost,
             refusal::none, never, now);
  if (!batch.alone) {
    for (const auto handle : batch.handles)
      if (!planted(bug::trust_everybody))
        requests_.all_of(handle).last_loss = crashed ? worker_loss::worker_crashed : worker_loss::worker_lost;
    return resubmit(batch, now);
  }
  const auto handle = batch.handles.front();
  const auto& r = requests_[handle];
  if (r.id != request_id{}) {
    const bool did_it = crashed && requests_.all_of(handle).last_loss == worker_loss::worker_crashed;
    poisoned_ += did_it;
    const auto why = did_it ? failure::poison : failure::worker_lost;
    send(r.gateway, completion{id, r.rows, {{r.id, r.attempt, why, {}, {}}}});
  }
  requests_.release(handle);
}

void model_queue::queue_poison_retry(uint32_t handle, time_point now) {
  if (placements_here_ == 0) return give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return std::pair(latest_start(requests_[a]), requests_[a].id) <
           std::pair(latest_start(requests_[b]), requests_[b].id);
  };
  poison_retries_.insert(std::upper_bound(poison_retries_.begin(), poison_retries_.end(), handle, earlier),
                         handle);
}

time_point model_queue::latest_start(const request& r) const {
  return r.deadline - policy_->latency()(r.rows);
}

void model_queue::give_up_late_poison_retries(time_point now) {
  while (!poison_retries_.empty() && latest_start(requests_[poison_retries_.front()]) < now) {
    if (placements_here_ == 0)
      give_up(poison_retries_.front(), drop_reason::no_capacity, {drop_rule::no_worker}, now);
    else
      give_up(poison_retries_.front(), drop_reason::late, {drop_rule::poison_retry_too_late}, now);
    poison_retries_.erase(poison_retries_.begin());
  }
}

void model_queue::offer_poison_retry(time_point now) {
  if (poison_retries_.empty() != poison_retry_offered_ || now < offer_poison_retry_at_) return;
  poison_retry_offered_ = !poison_retries_.empty();
  candidate c{options_.model, ++sequence_, 0, now, never, {}, true};
  if (poison_retry_offered_) c.rows = requests_[poison_retries_.front()].rows;
  send(options_.arbiter, c);
}

}  // namespace troupe
