#include "actors/model_queue.hpp"

#include <algorithm>

namespace troupe {

model_queue::model_queue(address self, outbox& out, const options& o, std::unique_ptr<batching_policy> policy)
    : shell(self, out), options_(o), policy_(std::move(policy)) {}

void model_queue::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](submit& s) {
                         for (auto& r : s.requests) take(r, now);
                       },
                       [&](cancel& c) {
                         if (!policy_->remove(c.id)) return;
                         const auto it = std::find_if(requests_.begin(), requests_.end(),
                                                      [&](const request& r) { return r.id == c.id; });
                         if (it == requests_.end()) return;
                         drop(*it, drop_reason::cancelled);
                         it->id = {};
                         free_handles_.push_back(static_cast<uint32_t>(it - requests_.begin()));
                       },
                       [&](grant& g) { on_grant(g, now); },
                       [&](batch_done& d) { on_done(d, now); },
                       [&](slot_ready& s) { on_slot(s); },
                       [&](node_down& d) { on_node_down(d, now); },
                       [&](node_leaving& l) { forget_homes(l.node, l.life); },
                       [&](reborn& r) { start_over(r.life); },
                   });
}

void model_queue::take(request& r, time_point now) {
  ++received_;
  if (homes_.empty()) return drop(r, drop_reason::no_capacity);
  if (policy_->queued_rows() + r.rows > options_.max_queued_rows) return drop(r, drop_reason::queue_full);
  uint32_t handle = 0;
  if (free_handles_.empty()) {
    handle = static_cast<uint32_t>(requests_.size());
    requests_.push_back(r);
  } else {
    handle = free_handles_.back();
    free_handles_.pop_back();
    requests_[handle] = r;
  }
  policy_->add({r.deadline, r.id, r.rows, handle}, now);
}

void model_queue::on_time(time_point now) {
  policy_->update(now, long_ago);
  tell_candidate();
  send_drops();
}

/// Nothing of the old life counts any more; the gateways see to the fates.
void model_queue::start_over(incarnation life) {
  self_.life = life;
  for (size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i].id != request_id{}) policy_->remove(requests_[i].id);
  requests_.clear();
  free_handles_.clear();
  homes_.clear();
  running_.clear();
  pending_drops_.clear();
}

void model_queue::on_grant(const grant& g, time_point now) {
  const auto at = homes_.find(g.slot);
  told_ = {};
  told_.rows = ~0u;  // the grant used the candidate up: tell the next one even if it looks the same
  const bool alive = at != homes_.end() && at->second.life == g.worker.life;
  policy_->update(now, g.free_at);
  const auto window = policy_->window();
  if (!alive || window.rows == 0) {
    send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, {}, g.free_at});
    return;
  }
  batch_.clear();
  policy_->take_batch(batch_);

  batch_order order;
  order.batch = batch_id{next_batch_++};
  order.reign = options_.reign;
  order.model = options_.model;
  order.slot = g.slot;
  order.queue = self_;
  order.exec_at = window.exec_at;
  order.start_by = window.latest;
  order.requests.reserve(batch_.size());
  for (const auto& t : batch_) {
    order.requests.push_back(requests_[t.handle]);
    requests_[t.handle].id = {};
    free_handles_.push_back(t.handle);
  }
  ++batches_;
  batched_rows_ += window.rows;
  running_[order.batch] = {g.worker, order.requests};
  const auto free_at = window.exec_at + policy_->latency()(window.rows);
  send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, order.batch, free_at});
  send(g.worker, std::move(order));
}

void model_queue::on_done(const batch_done& d, time_point now) {
  const auto it = running_.find(d.batch);
  if (it == running_.end()) return;
  auto batch = std::move(it->second);
  running_.erase(it);
  if (d.refused == refusal::none) return;
  resubmit(batch.requests, now);  // none of them started
}

void model_queue::on_slot(const slot_ready& s) {
  for (const auto& m : s.models) {
    if (m.model != options_.model) continue;
    homes_[s.slot] = {s.worker.node, s.worker.life};
    policy_->set_slots(static_cast<uint32_t>(homes_.size()));
    // Measured latencies differ between slots: plan with the slowest.
    if (options_.latency_given) continue;
    const auto known = policy_->latency();
    if (homes_.size() == 1 || m.alpha + m.beta > known.alpha + known.beta)
      policy_->set_latency({m.alpha, m.beta});
  }
}

void model_queue::forget_homes(node_id node, incarnation life) {
  std::erase_if(homes_, [&](const auto& h) { return h.second.node == node && h.second.life == life; });
  if (!homes_.empty()) policy_->set_slots(static_cast<uint32_t>(homes_.size()));
}

void model_queue::on_node_down(const node_down& d, time_point now) {
  forget_homes(d.node, d.life);
  std::vector<batch_id> gone;  // in a fixed order, for determinism
  for (const auto& [id, batch] : running_)
    if (batch.worker.node == d.node && batch.worker.life == d.life) gone.push_back(id);
  std::sort(gone.begin(), gone.end());
  for (auto id : gone) {
    auto batch = std::move(running_[id]);
    running_.erase(id);
    resubmit(batch.requests, now);
  }
  forget_gateway(d.node, d.life);
}

void model_queue::resubmit(std::vector<request>& requests, time_point now) {
  for (auto& r : requests) {
    ++r.attempt;
    ++resubmitted_;
    if (r.attempt > options_.max_attempts)
      drop(r, drop_reason::late);
    else
      take(r, now);
  }
}

void model_queue::forget_gateway(node_id node, incarnation life) {
  for (size_t i = 0; i < requests_.size(); ++i) {
    auto& r = requests_[i];
    if (r.id == request_id{} || r.gateway.node != node || r.gateway.life != life) continue;
    ++lost_with_gateway_;
    policy_->remove(r.id);
    r.id = {};
    free_handles_.push_back(static_cast<uint32_t>(i));
  }
}

void model_queue::drop(const request& r, drop_reason why) {
  ++drops_[static_cast<size_t>(why)];
  auto it = std::find_if(pending_drops_.begin(), pending_drops_.end(),
                         [&](const auto& p) { return p.first == r.gateway; });
  if (it == pending_drops_.end()) it = pending_drops_.insert(it, {r.gateway, {}});
  it->second.requests.push_back({r.id, r.attempt, why});
}

void model_queue::send_drops() {
  dropped_.clear();
  policy_->take_dropped(dropped_);
  for (const auto& d : dropped_) {
    auto& r = requests_[d.request.handle];
    drop(r, homes_.empty() ? drop_reason::no_capacity : d.reason);
    r.id = {};
    free_handles_.push_back(d.request.handle);
  }
  for (auto& [gateway, list] : pending_drops_) send(gateway, std::move(list));
  pending_drops_.clear();
}

void model_queue::tell_candidate() {
  const auto& w = policy_->window();
  if (w == told_) return;
  told_ = w;
  send(options_.arbiter,
       candidate{options_.model, ++sequence_, w.rows, w.exec_at, w.latest, options_.network(w.rows)});
}

void model_queue::report(std::vector<metric>& out) const {
  const auto add = [&](const char* name, double value, metric::kind kind,
                       std::vector<std::pair<std::string, std::string>> more = {}) {
    more.insert(more.begin(), {"model", options_.name});
    out.push_back({name, std::move(more), value, kind});
  };
  using enum metric::kind;
  add("troupe_queue_requests", static_cast<double>(policy_->queued_requests()), gauge);
  add("troupe_queue_rows", policy_->queued_rows(), gauge);
  add("troupe_queue_running_batches", static_cast<double>(running_.size()), gauge);
  add("troupe_queue_slots", static_cast<double>(homes_.size()), gauge);
  add("troupe_queue_received_total", static_cast<double>(received_), counter);
  add("troupe_batches_total", static_cast<double>(batches_), counter);
  add("troupe_batched_rows_total", static_cast<double>(batched_rows_), counter);
  add("troupe_queue_resubmitted_total", static_cast<double>(resubmitted_), counter);
  add("troupe_lost_with_gateway_total", static_cast<double>(lost_with_gateway_), counter);
  for (size_t i = 1; i < drop_reason_count; ++i)
    add("troupe_queue_drops_total", static_cast<double>(drops_[i]), counter,
        {{"reason", std::string(to_string(static_cast<drop_reason>(i)))}});
}

}  // namespace troupe
