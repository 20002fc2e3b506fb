#include "actors/tensor/model_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

/// Unlike any window: what the arbiter has been told is used up, so that it is told again.
constexpr batch_window unknown{~0u, never, never};
constexpr batch_window nothing{};

}  // namespace

model_queue::model_queue(address self, outbox& out, const options& o, std::unique_ptr<batching_policy> policy)
    : actor(self, out),
      options_(o),
      policy_(std::move(policy)),
      log_(o.decision_log),
      next_batch_(o.first_batch) {
  requests_.remember(o.decision_log);
  if (o.leaving == no_domain) return;
  leaves_ = model_idle{o.model, o.revision, self};
  left_domain_ = o.leaving;
}

void model_queue::on(envelope& e, time_point now) {
  if (ended_) return on_message_while_leaving(e.body, now);
  // Of a large cluster these come by the thousand.
  const bool about_placements =
      std::holds_alternative<slot_ready>(e.body) || std::holds_alternative<slot_service>(e.body);
  if (placements_changed_ && !about_placements) apply_placements();
  dispatch(e.body, overloaded{
                       [&](submit& s) {
                         for (auto& r : s.requests) take(r, now);
                       },
                       [&](cancel& c) { cancelled_.push_back(c.id); },
                       [&](grant& g) {
                         if (e.from.kind == role::rank_arbiter && e.from.index != domain())
                           return decline(e.from, g);
                         on_grant(g, now);
                       },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](batch_done& d) { on_done(d, now); },
                       [&](slot_ready& s) { on_slot(s); },
                       [&](slot_service& s) {
                         if (!s.in) out_of_service_.insert(s.slot);
                         if (s.in) out_of_service_.erase(s.slot);
                         placements_changed_ = true;
                       },
                       [&](node_down& d) { on_node_down(d, now); },
                       [&](node_leaving& l) { forget_placements(l.node, l.incarnation); },
                       [&](backends& b) { on_backends(e.from, b, now); },
                       [&](leadership& t) { on_leadership(t, now); },
                       [&](handover& h) { adopt(h, now); },
                       [&](query_received& q) {
                         send(e.from, received_requests{q.token, received_});
                       },
                       [&](new_incarnation&) { start_over(); },
                   });
}

void model_queue::take(const request& r, time_point now) {
  if (!is_leader()) return hold(r);
  if (adopted_.contains(r.id)) return;
  ++received_;
  queue_up(keep(r, now), now);
}

uint32_t model_queue::keep(const request& r, time_point now) {
  return requests_.add({r, now, policy_->queued_rows()});
}

void model_queue::queue_up(uint32_t handle, time_point now) {
  const auto& r = requests_[handle];
  if (placements_here_ == 0) return give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
  if (is_infeasible(r)) {
    const drop_grounds why{drop_rule::batching, r.rows, now + options_.network(r.rows), now + time_alone(r)};
    return give_up(handle, drop_reason::late, why, now);
  }
  if (const auto bound = rows_that_may_wait(r, now); policy_->queued_rows() + r.rows > bound) {
    admission_.lost(now, r.rows);
    return give_up(handle, drop_reason::queue_full, {drop_rule::queue_bound, bound}, now);
  }
  policy_->add({planned_deadline(r), r.id, r.rows, handle}, now);
}

/// From its arrival to its answer, if a slot is free at once.
duration model_queue::time_alone(const request& r) const {
  return options_.network(r.rows) + policy_->latency()(r.rows) + options_.parameters.response;
}

/// It asks for less time than it takes: that says nothing of how busy the slots are.
bool model_queue::is_infeasible(const request& r) const { return r.arrival + time_alone(r) > r.deadline; }

/// An empty queue takes whatever is asked.
uint32_t model_queue::rows_that_may_wait(const request& r, time_point now) {
  const auto batch = std::max(last_batch_rows_, r.rows);
  const auto patience =
      r.deadline - now - policy_->latency()(batch) - options_.network(batch) - 2 * options_.margin;
  return std::max(
      r.rows, std::min(options_.max_queued_rows, admission_.bound(now, patience, batch, placements_here_)));
}

void model_queue::give_up(uint32_t handle, drop_reason why, const drop_grounds& g, time_point now) {
  if (log_.on()) log_.drop(known(handle), now, why, g);
  drop(requests_[handle], why);
  requests_.release(handle);
}

/// The handles of those, of all that wait here or for their poison retry, for which `leaves` says so: they
/// wait no more.
std::vector<uint32_t> model_queue::take_out(const std::function<bool(const request&)>& leaves) {
  std::vector<uint32_t> handles;
  std::vector<queued_request> removed;
  policy_->remove_if([&](const queued_request& t) { return leaves(requests_[t.handle]); }, removed);
  for (const auto& t : removed) handles.push_back(t.handle);
  std::erase_if(poison_retries_, [&](uint32_t handle) {
    const bool gone = leaves(requests_[handle]);
    if (gone) handles.push_back(handle);
    return gone;
  });
  return handles;
}

/// All of a turn at once: clients that hang up do so by the thousand. A request that runs already goes on:
/// its answer says so.
void model_queue::give_up_cancelled(time_point now) {
  if (cancelled_.empty()) return;
  if (planted(bug::throw_up)) throw std::logic_error("planted");
  std::sort(cancelled_.begin(), cancelled_.end());
  const auto cancelled = [&](const request& r) {
    return std::binary_search(cancelled_.begin(), cancelled_.end(), r.id);
  };
  for (const auto handle : take_out(cancelled))
    give_up(handle, drop_reason::cancelled, {drop_rule::cancelled}, now);
  std::erase_if(held_, [&](const request& r) {
    const bool gone = cancelled(r);
    if (gone) drop(r, drop_reason::cancelled);
    return gone;
  });
  cancelled_.clear();
}

void model_queue::on_time(time_point now) {
  if (ended_) return send_drops(now);
  if (placements_changed_) apply_placements();
  give_up_cancelled(now);
  policy_->update(now, long_ago);
  give_up_late_poison_retries(now);
  send_candidate(now);
  offer_poison_retry(now);
  send_drops(now);
  report_left();
  report_load(now);
}

time_point model_queue::next_wakeup() const {
  const auto late = poison_retries_.empty() ? never : latest_start(requests_[poison_retries_.front()]) + 1ns;
  const auto report_at = poison_retries_.empty() || poison_retry_offered_ ? never : offer_poison_retry_at_;
  const auto load =
      load_.good + load_.bad == 0 || options_.load_report == duration{} ? never : report_load_at_;
  return std::min({policy_->wake_at(), late, report_at, load});
}

/// Nobody runs what waits. What a worker has goes on, and it answers the gateway, unless it gives it back.
void model_queue::end(time_point now) {
  ended_ = true;
  placements_.clear();
  placements_here_ = 0;
  for (const auto handle : take_out([](const request&) { return true; }))
    give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
  for (const auto& r : held_) drop(r, drop_reason::no_capacity);
  send_drops(now);
}

void model_queue::on_message_while_leaving(actor_message& m, time_point now) {
  dispatch(m, overloaded{
                  [&](batch_done& d) {
                    if (running_.contains(d.batch)) on_done(d, now);
                  },
                  [&](node_down& d) { on_node_down(d, now); },
                  [&](leadership& t) {
                    if (options_.elected && t.later_than(leadership_)) forget_requests();
                  },
                  [&](new_incarnation&) { forget_requests(); },
              });
}

/// Nothing of the old incarnation counts any more; the gateways see to the outcomes.
void model_queue::start_over() {
  // Workers that saw it refuse what is still on its way from the old one.
  options_.term = options_.elected ? term_id{} : term_id{self_.incarnation.value};
  forget_requests();
  held_.clear();
  cancelled_.clear();
  placements_.clear();
  placements_here_ = 0;
}

/// The gateways see to their outcomes.
void model_queue::forget_requests() {
  take_out([](const request&) { return true; });
  policy_->take_dropped(dropped_);
  requests_.release_all();
  poison_retry_offered_ = false;
  poison_retries_.clear();
  running_.clear();
  adopted_.clear();
  early_.clear();
  pending_drops_.clear();
  sent_window_ = unknown;
}

void model_queue::on_grant(const grant& g, time_point now) {
  if (g.alone) return on_grant_alone(g, now);
  const auto promised =
      std::max(policy_->choose(g.slot, std::exchange(sent_window_, unknown)).exec_at, g.free_at);
  if (!has_placement(g)) {
    // The arbiter will hear of it too. Until then, do not meet it at once with the same candidate.
    send(options_.arbiter,
         occupied{options_.model, g.sequence, g.slot, {}, std::max(g.free_at, now + 100us)});
    return;
  }
  policy_->set_load(g.load);
  policy_->update(now, g.free_at);
  const auto window = policy_->window();
  if (window.rows == 0 || paused_) {
    send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, {}, g.free_at});
    return;
  }
  batch_.clear();
  policy_->take_batch(batch_);

  batch_order o;
  o.exec_at = std::min(promised, window.exec_at);  // a grant that comes late does not move the plan
  o.start_by = window.latest + options_.margin;
  o.requests.reserve(batch_.size());
  running_batch running;
  running.handles.reserve(batch_.size());
  running.first_deadline = never;
  for (const auto& t : batch_) {
    const auto& r = o.requests.emplace_back(requests_[t.handle]);
    running.first_deadline = std::min(running.first_deadline, r.deadline);
    running.handles.push_back(t.handle);
    if (log_.on()) log_.grant(t.handle, r.attempt, batch_id{next_batch_});
  }
  batched_rows_ += window.rows;
  last_batch_rows_ = window.rows;
  admission_.served(now, window.rows);
  const auto end = window.exec_at + policy_->latency()(window.rows);
  if (log_.on()) log_batch(g, o, window.rows, end, now);
  order(g, std::move(o), std::move(running), end, now);
}

/// Sends the order that answers a grant; its slot is free again at `free_at`.
void model_queue::order(const grant& g, batch_order o, running_batch running, time_point free_at,
                        time_point now) {
  o.batch = batch_id{next_batch_++};
  o.term = options_.term;
  o.model = options_.model;
  o.slot = g.slot;
  o.queue = self_;
  o.ordered_at = now;
  o.preempts = g.preempts;
  running.worker = g.worker;
  send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, o.batch, free_at, running.alone});
  running_[o.batch] = std::move(running);
  ++batches_;
  send(g.worker, std::move(o));
}

void model_queue::drop(const request& r, drop_reason why) {
  ++drops_[static_cast<size_t>(why)];
  const bool too_busy = why == drop_reason::late || why == drop_reason::shed ||
                        why == drop_reason::queue_full || why == drop_reason::no_capacity;
  load_.bad += too_busy && !is_infeasible(r);
  auto it = std::find_if(pending_drops_.begin(), pending_drops_.end(),
                         [&](const auto& p) { return p.first == r.gateway; });
  if (it == pending_drops_.end()) it = pending_drops_.insert(it, {r.gateway, {}});
  it->second.requests.push_back({r.id, r.attempt, why});
}

void model_queue::send_drops(time_point now) {
  dropped_.clear();
  policy_->take_dropped(dropped_);
  for (const auto& d : dropped_) {
    admission_.lost(now, d.request.rows);
    if (placements_here_ == 0)
      give_up(d.request.handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
    else
      give_up(d.request.handle, d.reason, {drop_rule::batching, d.batch_rows, d.start, d.end}, now);
  }
  if (!planted(bug::lose_drops))
    for (auto& [gateway, list] : pending_drops_) send(gateway, std::move(list));
  pending_drops_.clear();
}

void model_queue::report_load(time_point now) {
  if (options_.load_report == duration{} || load_.good + load_.bad == 0 || now < report_load_at_) return;
  report_load_at_ = now + options_.load_report;
  send(options_.arbiter, std::exchange(load_, {}));
}

void model_queue::send_candidate(time_point now) {
  const auto& w = paused_ ? nothing : policy_->window();
  const auto slots = policy_->slots();
  if (w == sent_window_ && std::equal(slots.begin(), slots.end(), sent_slots_.begin(), sent_slots_.end()))
    return;
  sent_window_ = w;
  sent_slots_.assign(slots.begin(), slots.end());
  if (log_.on()) log_.offered(now, sequence_ + 1, w);
  send(options_.arbiter,
       candidate{options_.model, ++sequence_, w.rows, w.exec_at, w.latest,
                 std::max(options_.network(w.rows), policy_->lead()), false, policy_->need(), sent_slots_});
}

/// What is true of a queue that has told its candidate is told again to the arbiter of the new domain.
void model_queue::go_over_to(uint32_t domain, time_point now) {
  send(options_.arbiter, candidate{options_.model, ++sequence_, 0, never, long_ago, {}});
  if (poison_retry_offered_)
    send(options_.arbiter, candidate{options_.model, ++sequence_, 0, never, never, {}, true});
  options_.arbiter.index = domain;
  sent_window_ = unknown;
  poison_retry_offered_ = false;
  out_of_service_.clear();  // the new arbiter says which of its slots are
  policy_->set_backends({}, now);
  admission_ = {};
  apply_placements();
}

}  // namespace troupe
