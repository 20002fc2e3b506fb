// What a model queue does with what comes back: batches that are done or refused, and those of nodes that are
// gone.
#include <algorithm>

#include "actors/common/planted_bug.hpp"
#include "actors/tensor/model_queue.hpp"

namespace troupe {

void model_queue::on_done(const batch_done& d, time_point now) {
  const auto it = running_.find(d.batch);
  if (it == running_.end()) return keep_early(d);
  const auto batch = std::move(it->second);
  running_.erase(it);
  if (log_.on()) log_end(d, now);
  fail_stale(batch, d);
  if (d.refused == refusal::preempted) return run_again(batch, now);
  if (d.refused != refusal::none && d.refused != refusal::late) return resubmit(batch, now);  // none started
  if (d.refused == refusal::none && d.finished_at <= batch.first_deadline) {
    load_.good += batch.handles.size();
    for (const auto handle : batch.handles) requests_.release(handle);
    return;
  }
  for (const auto handle : batch.handles) {
    // Too late to start as a batch is too late for most of it: it would only hold up the requests behind it,
    // which can still be in time. A backlog that is planned at its latest start again and again would never
    // end.
    const auto& r = requests_[handle];
    if (d.refused != refusal::late || r.id == request_id{}) {
      ++(d.finished_at <= r.deadline ? load_.good : load_.bad);
      requests_.release(handle);
      continue;
    }
    admission_.lost(now, r.rows);
    give_up(handle, drop_reason::late, {drop_rule::not_started}, now);
  }
}

/// The worker told the gateway, too, if it knew it; the first to say so counts.
void model_queue::fail_stale(const running_batch& batch, const batch_done& d) {
  for (const auto id : d.stale)
    for (const auto handle : batch.handles)
      if (const auto& r = requests_[handle]; r.id == id)
        send(r.gateway, completion{d.batch, d.rows, {{r.id, r.attempt, failure::stale_memory, {}, {}}}});
}

void model_queue::on_node_down(const node_down& d, time_point now) {
  forget_placements(d.node, d.incarnation);
  forget_gateway(d.node, d.incarnation);
  std::vector<batch_id> gone;  // in a fixed order, for determinism
  for (const auto& [id, batch] : running_)
    if (batch.worker.node == d.node && batch.worker.incarnation == d.incarnation) gone.push_back(id);
  std::sort(gone.begin(), gone.end());
  for (auto id : gone) {
    const auto batch = std::move(running_[id]);
    running_.erase(id);
    on_batch_lost(id, batch, d.crashed, now);
  }
}

void model_queue::resubmit(const running_batch& batch, time_point now) {
  for (const auto handle : batch.handles) {
    auto& e = requests_.all_of(handle);
    if (e.what.id == request_id{}) {
      requests_.release(handle);
      continue;
    }
    ++resubmitted_;
    ++e.what.attempt;
    if (++e.returned >= options_.max_attempts)
      give_up(handle, drop_reason::no_capacity, {drop_rule::attempts}, now);
    else if (e.last_loss != worker_loss::none)
      queue_poison_retry(handle, now);
    else
      queue_up(handle, now);
  }
}

/// The batch was stopped for a larger one. Its requests did nothing wrong: that they were ordered counts
/// against none of them, and they are let in as they were before.
void model_queue::run_again(const running_batch& batch, time_point now) {
  for (const auto handle : batch.handles) {
    auto& r = requests_[handle];
    if (r.id == request_id{} || planted(bug::forget_preempted)) {
      requests_.release(handle);
      continue;
    }
    ++preempted_;
    ++r.attempt;
    const auto start = now + options_.network(r.rows);
    const auto end = start + policy_->latency()(r.rows) + options_.parameters.response;
    if (placements_here_ == 0) {
      give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
    } else if (requests_.all_of(handle).last_loss != worker_loss::none) {
      queue_poison_retry(handle, now);
    } else if (end > planned_deadline(r)) {
      admission_.lost(now, r.rows);
      give_up(handle, drop_reason::late, {drop_rule::preempted, r.rows, start, end}, now);
    } else {
      policy_->add({planned_deadline(r), r.id, r.rows, handle}, now);
    }
  }
}

/// Nobody waits for its answers any more. The handles of running ones come back with their batch.
void model_queue::forget_gateway(node_id node, incarnation_id incarnation) {
  const auto lost = [&](const request& r) {
    return r.gateway.node == node && r.gateway.incarnation == incarnation;
  };
  for (const auto handle : take_out(lost)) {
    ++lost_with_gateway_;
    requests_.release(handle);
  }
  requests_.for_each([&](uint32_t, request& r) {
    if (!lost(r)) return;
    ++lost_with_gateway_;
    r.id = {};
  });
}

}  // namespace troupe
