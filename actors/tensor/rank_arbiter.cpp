#include "actors/tensor/rank_arbiter.hpp"

#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

bool in_domain(slot_id slot, const rank_arbiter::domain& d, const address& self) {
  return d.of_slots.empty() || (slot.value < d.of_slots.size() && d.of_slots[slot.value] == self.index);
}

/// Of a slot after a batch whose inputs were all stale. Gateways submit such requests again at once
/// (policies/common/resubmission.hpp), so that another slot gets them.
constexpr duration stale_rest = 100ms;

slot_handover::options handover_options(const rank_arbiter::options& o, const address& self) {
  slot_handover::options out{.elected = o.elected, .hasty = planted(bug::hasty_leader)};
  for (uint32_t i = 0; i < o.nodes_of_slots.size(); ++i)
    if (o.elected && in_domain(slot_id{i}, o.of, self)) out.nodes.emplace(slot_id{i}, o.nodes_of_slots[i]);
  return out;
}

}  // namespace

rank_arbiter::rank_arbiter(address self, outbox& out, std::unique_ptr<matchmaking_policy> policy,
                           const options& o)
    : actor(self, out),
      domain_(o.of),
      policy_(std::move(policy)),
      handover_(handover_options(o, self)),
      scaling_(o.autoscale, o.scalable),
      profiles_({o.models, self.index, o.network, o.response}, *policy_),
      log_(grant_log::of_requests(o.decision_log)) {
  scaling_.begin(handover_.open());
}

void rank_arbiter::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](candidate& c) { on_candidate(e.from, c, now); },
                       [&](occupied& o) { o.alone ? on_occupied_alone(o) : on_occupied(o); },
                       [&](batch_done& d) { on_done(d); },
                       [&](slot_ready& r) { on_slot(r, now); },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](node_up& n) { handover_.on_node_up(n.node, n.incarnation); },
                       [&](leadership& t) {
                         if (!handover_.follow(t)) return;
                         start_over(now);
                         open_if_known(now);
                       },
                       [&](handover& h) { on_handover(h, now); },
                       [&](queue_load& l) {
                         scaling_.count_requests(l.good, l.bad);
                         policy_->count_requests(model_id{e.from.index}, l.good + l.bad, now);
                       },
                       [&](node_down& d) { on_node_down(d, now); },
                       [&](node_leaving& l) { forget_slots(l.node, l.incarnation); },
                       [&](new_incarnation&) {
                         start_over(now);
                         slots_.clear();
                         handover_.forget_workers();
                       },
                   });
}

void rank_arbiter::on_candidate(const address& from, const candidate& c, time_point now) {
  if (from.node == self_.node && from.incarnation < self_.incarnation)
    return;                                // of a queue that has not begun its new incarnation yet
  if (retired_.contains(c.model)) return;  // of a queue that is about to end
  if (c.alone)
    return c.rows > 0 ? quarantine_.add({c.model, from, c.sequence}) : quarantine_.withdraw(c.model);
  auto& q = queues_[c.model];
  if (q.granted) return;
  if (q.owner != from) {
    q.owner = from;
    for (const auto id : slots_.out_of_service()) send(from, slot_service{id, false});
  }
  q.sequence = c.sequence;
  q.window = {c.rows, c.exec_at, c.latest};
  if (log_.on()) log_.offered(now, c.model, c.sequence, q.window);
  policy_->set_candidate_on(c.model, q.window, c.delay, c.slots);
  loads_.set(c.model, c.need, now);
}

void rank_arbiter::on_time(time_point now) {
  if (now >= scaling_.next_sample() && scaling_.sample(now, slots_.in_service()))
    for (const auto& c : scaling_.apply(slots_.models_in_service())) set_service(c.slot, c.in, now);
  if (handover_.open()) grant_poison_retries(now);
  grant_slots(now);
}

void rank_arbiter::grant_slots(time_point now) {
  matches_.clear();
  policy_->poll(now, matches_);
  send_backends();
  for (const auto& m : matches_) {
    auto* s = slots_.find(m.slot);
    if (s == nullptr) continue;  // an unknown slot, from a plug-in's policy
    ++grants_;
    auto& q = queues_[m.model];
    s->promised = true;
    q.granted = s->worker;
    if (log_.on()) log_.granted(now, m.model, q.sequence, m.slot, m.free_at, m.preempts);
    send(q.owner, grant{m.model, q.sequence, m.slot, *q.granted, m.free_at, false,
                        loads_.load(slots_.in_service(), now), m.preempts});
  }
}

void rank_arbiter::grant_poison_retries(time_point now) {
  const auto step = quarantine_.advance(slots_);
  for (const auto id : step.put_back) slots_.offer(id, *policy_, now);
  for (const auto id : step.taken) policy_->remove_slot(id);
  if (!step.granted) return;
  const auto& [retry, slot] = *step.granted;
  ++grants_;
  send(retry.owner, grant{retry.model, retry.sequence, slot, slots_.find(slot)->worker, now, true});
}

void rank_arbiter::send_backends() {
  if (!profiles_.places()) return;
  backends_.clear();
  policy_->take_backends(backends_);
  for (const auto& m : backends_) {
    backends update;
    for (const auto& b : m.of) update.of.push_back({b.slot, b.batch, b.weight});
    send(on_node(self_.node, role::model_queue, m.model.value), std::move(update));
  }
}

void rank_arbiter::on_occupied_alone(const occupied& o) {
  if (!quarantine_.runs(o.model, o.slot)) return;
  if (o.batch == batch_id{}) return quarantine_.end_run();
  auto& s = *slots_.find(o.slot);
  s.orders.push_back({o.batch, o.model, o.free_at});
  if (s.early) on_done(*std::exchange(s.early, {}));
}

void rank_arbiter::on_occupied(const occupied& o) {
  const auto q = queues_.find(o.model);
  if (q == queues_.end() || !q->second.granted) return;
  const auto worker = *std::exchange(q->second.granted, {});
  auto* s = slots_.find(o.slot);
  if (s == nullptr || s->worker != worker)
    return policy_->occupy(o.model, o.slot, never);  // the slot is gone
  s->promised = false;
  if (o.batch != batch_id{}) s->orders.push_back({o.batch, o.model, o.free_at, q->second.window.rows});
  // With two batches the slot is occupied until one is done; a declined grant leaves the earlier batch.
  const auto free_at = std::max(o.free_at, s->free_at(o.free_at));
  policy_->occupy(o.model, o.slot, free_at);
  policy_->set_free_at(o.slot, free_at);  // if it was out of service in between, `occupy` had no effect
  policy_->set_rows(o.slot, s->rows());
  if (s->early && o.batch != batch_id{}) on_done(*std::exchange(s->early, {}));
}

void rank_arbiter::on_done(const batch_done& d) {
  handover_.on_done(d);
  auto* s = slots_.find(d.slot);
  if (s == nullptr || !s->finish(d)) return;
  if (quarantine_.runs(d.model, d.slot)) quarantine_.end_run();
  if (ran(d.refused)) scaling_.count_busy(d.finished_at - d.started_at);
  preempted_ += d.refused == refusal::preempted;
  refused_ += !ran(d.refused);
  // The worker may not reach their gateway. If others had requests in the batch, the slot goes on with those.
  if (!d.stale.empty() && d.rows == 0 && slots_.can_rest(*s, d.finished_at)) {
    s->rests_until = d.finished_at + stale_rest;
    ++rests_;
  }
  policy_->set_free_at(d.slot, s->free_at(d.finished_at));
  policy_->set_rows(d.slot, s->rows());
}

void rank_arbiter::on_slot(const slot_ready& r, time_point now) {
  if (!in_domain(r.slot, domain_, self_)) return;
  std::vector<model_id> models;
  for (const auto& m : r.models) models.push_back(m.model);
  profiles_.on_slot_ready(r);
  if (auto* known = slots_.find(r.slot); known != nullptr) {
    if (known->worker.incarnation == r.worker.incarnation) {
      known->models = models;
      return policy_->set_models(r.slot, models);
    }
    policy_->remove_slot(r.slot);
  }
  handover_.on_slot_ready(r.slot, r.worker);
  begin_service(r.slot, slots_.add(r.slot, r.worker, std::move(models)), now);
}

/// Offers the policy a slot that is ready or has handed over.
void rank_arbiter::begin_service(slot_id id, slot_record& s, time_point now) {
  if (const auto order = handover_.still_runs(id, s.worker); order && s.orders.empty())
    s.orders.push_back(*order);
  s.accepts = handover_.accepts(id, s.worker);
  if (s.accepts && !slots_.is_out(id) && !quarantine_.holds(s.worker)) slots_.offer(id, *policy_, now);
}

/// The slot's batches and an open grant of it go on.
void rank_arbiter::set_service(slot_id id, bool in, time_point now) {
  if (!slots_.set_service(id, in)) return;
  if (!in)
    policy_->remove_slot(id);
  else if (const auto* s = slots_.find(id); s != nullptr && s->accepts && !quarantine_.holds(s->worker))
    slots_.offer(id, *policy_, now);
  for (const auto& [model, q] : queues_) send(q.owner, slot_service{id, in});
}

void rank_arbiter::on_change(const deployment& line, time_point now) {
  profiles_.on_change(line);
  if (line.wanted != deployment_state::undeployed) {
    retired_.erase(line.model);
    return;
  }
  retired_.insert(line.model);
  forget_queue(line.model, now);
  quarantine_.remove_model(line.model);
}

void rank_arbiter::on_node_down(const node_down& d, time_point now) {
  forget_slots(d.node, d.incarnation);
  quarantine_.forget_queues(d.node, d.incarnation);
  std::vector<model_id> orphans;
  for (const auto& [id, q] : queues_)
    if (q.owner.node == d.node && q.owner.incarnation == d.incarnation) orphans.push_back(id);
  for (const auto id : orphans) forget_queue(id, now);
  handover_.on_node_down(d.node, d.incarnation);
  open_if_known(now);
}

void rank_arbiter::forget_slots(node_id node, incarnation_id incarnation) {
  quarantine_.forget_node(node, incarnation);
  for (const auto id : slots_.of(node, incarnation)) {
    policy_->remove_slot(id);
    slots_.remove(id);
    profiles_.forget(id);
  }
}

/// An open grant of the queue stays unanswered, so its slot becomes free.
void rank_arbiter::forget_queue(model_id model, time_point now) {
  policy_->remove_model(model, now);
  loads_.remove(model);
  const auto q = queues_.find(model);
  if (q == queues_.end()) return;
  for (auto& [id, s] : slots_) {
    if (q->second.granted != s.worker) continue;
    s.promised = false;
    policy_->set_free_at(id, s.free_at(now));  // its batches go on
    policy_->set_rows(id, s.rows());
  }
  queues_.erase(q);
}

/// Slots stay known, but get no grants before they hand over.
void rank_arbiter::start_over(time_point now) {
  for (const auto& [id, s] : slots_) policy_->remove_slot(id);
  slots_.begin_term();
  for (const auto& [id, q] : queues_) policy_->remove_model(id, now);
  queues_.clear();
  loads_ = {};
  quarantine_.clear();
  handover_.begin_term();
  scaling_.begin(handover_.open());
}

void rank_arbiter::on_handover(handover& h, time_point now) {
  if (!handover_.on_handover(h, self_)) return;
  if (auto* s = slots_.find(h.slot); s != nullptr && s->worker == h.worker) {
    if (const auto order = handover_.still_runs(h.slot, h.worker)) s->orders.push_back(*order);
    if (handover_.open()) begin_service(h.slot, *s, now);
  }
  if (h.batch != batch_id{}) send(on_node(self_.node, role::model_queue, h.model.value), std::move(h));
  open_if_known(now);
}

void rank_arbiter::open_if_known(time_point now) {
  if (!handover_.open_if_known(self_)) return;
  scaling_.begin(true);
  for (const auto id : slots_.sorted()) begin_service(id, *slots_.find(id), now);  // sorted: deterministic
}

std::string_view rank_arbiter::state() const {
  return handover_.open()                                   ? "serving"
         : handover_.leads(self_) && handover_.has_leader() ? "taking over"
                                                            : "standing by";
}

}  // namespace troupe
