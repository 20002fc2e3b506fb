// The requests that were with a worker when it died: they run again one at a time, until it is known who
// kills.
#include <algorithm>
#include <utility>

#include "actors/model_queue.hpp"
#include "actors/planted_bug.hpp"

namespace troupe {

void model_queue::on_grant_alone(const grant& g, time_point now) {
  suspect_told_ = false;
  give_up_late_suspects(now);
  const bool stranger = !at_home(g);  // the arbiter will hear of it too; do not ask for it again at once
  if (stranger) tell_suspect_at_ = now + 1ms;
  if (stranger || suspects_.empty())
    return send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, {}, g.free_at, true});
  const auto handle = suspects_.front();
  suspects_.erase(suspects_.begin());
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
void model_queue::suspect(batch_id id, const running_batch& batch, bool crashed, time_point now) {
  if (log_.on())
    log_.end(id, crashed ? decision_log::fate::worker_crashed : decision_log::fate::worker_lost,
             refusal::none, never, now);
  if (!batch.alone) {
    for (const auto handle : batch.handles)
      if (!planted(bug::trust_everybody))
        requests_.all_of(handle).suspected = crashed ? suspicion::worker_crashed : suspicion::worker_lost;
    return resubmit(batch, now);
  }
  const auto handle = batch.handles.front();
  const auto& r = requests_[handle];
  if (r.id != request_id{}) {
    const bool did_it = crashed && requests_.all_of(handle).suspected == suspicion::worker_crashed;
    poisoned_ += did_it;
    const auto why = did_it ? failure::poison : failure::worker_lost;
    send(r.gateway, completion{id, r.rows, {{r.id, r.attempt, why, {}, {}}}});
  }
  requests_.release(handle);
}

void model_queue::wait_for_trial(uint32_t handle, time_point now) {
  if (homes_here_ == 0) return give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return std::pair(latest_start(requests_[a]), requests_[a].id) <
           std::pair(latest_start(requests_[b]), requests_[b].id);
  };
  suspects_.insert(std::upper_bound(suspects_.begin(), suspects_.end(), handle, earlier), handle);
}

time_point model_queue::latest_start(const request& r) const {
  return r.deadline - policy_->latency()(r.rows);
}

void model_queue::give_up_late_suspects(time_point now) {
  while (!suspects_.empty() && latest_start(requests_[suspects_.front()]) < now) {
    if (homes_here_ == 0)
      give_up(suspects_.front(), drop_reason::no_capacity, {drop_rule::no_worker}, now);
    else
      give_up(suspects_.front(), drop_reason::late, {drop_rule::trial_too_late}, now);
    suspects_.erase(suspects_.begin());
  }
}

void model_queue::tell_suspect(time_point now) {
  if (suspects_.empty() != suspect_told_ || now < tell_suspect_at_) return;
  suspect_told_ = !suspects_.empty();
  candidate c{options_.model, ++sequence_, 0, now, never, {}, true};
  if (suspect_told_) c.rows = requests_[suspects_.front()].rows;
  send(options_.arbiter, c);
}

}  // namespace troupe
