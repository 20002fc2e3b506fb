#include "actors/tensor/rank_arbiter.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "policies/common/time_math.hpp"

namespace troupe {

rank_arbiter::rank_arbiter(address self, outbox& out, std::unique_ptr<matchmaking_policy> policy,
                           const options& o)
    : actor(self, out),
      domain_(o.of),
      policy_(std::move(policy)),
      autoscale_(o.autoscale),
      scalable_(o.scalable),
      places_(!o.models.empty()),
      network_(o.network),
      response_(o.response),
      elected_(o.elected),
      nodes_of_slots_(o.nodes_of_slots),
      open_(!o.elected) {
  set_log(o.decision_log);
  begin_advice();
  begin_placement(o);
}

void rank_arbiter::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](candidate& c) { on_candidate(e.from, c, now); },
                       [&](occupied& o) { on_occupied(o); },
                       [&](batch_done& d) { on_done(d); },
                       [&](slot_ready& s) { on_slot(s, now); },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](node_up& n) { on_node_up(n); },
                       [&](leadership& t) { on_leadership(t, now); },
                       [&](handover& h) { on_handover(h, now); },
                       [&](queue_load& l) {
                         load_.good += l.good;
                         load_.bad += l.bad;
                         policy_->count_requests(model_id{e.from.index}, l.good + l.bad, now);
                       },
                       [&](node_down& d) {
                         forget_slots(d.node, d.incarnation);
                         forget_queues(d.node, d.incarnation, now);
                         forget_workers(d.node, d.incarnation, now);
                       },
                       [&](node_leaving& l) { forget_slots(l.node, l.incarnation); },
                       [&](new_incarnation&) {
                         start_over(now);
                         slots_.clear();
                         count_service();
                         workers_.clear();
                       },
                   });
}

void rank_arbiter::on_candidate(const address& from, const candidate& c, time_point now) {
  if (from.node == self_.node && from.incarnation < self_.incarnation)
    return;                                // of a queue that has not begun its new incarnation yet
  if (retired_.contains(c.model)) return;  // of a queue that is about to end
  if (c.alone) return on_poison_retry(from, c);
  auto& q = queues_[c.model];
  if (q.granted) return;
  if (q.owner != from) {
    q.owner = from;
    for (const auto id : out_) send(from, slot_service{id, false});
  }
  q.sequence = c.sequence;
  q.rows = c.rows;
  q.exec_at = c.exec_at;
  q.latest = c.latest;
  if (log_.on()) log_.offered(now, c.model, c.sequence, {c.rows, c.exec_at, c.latest});
  policy_->set_candidate_on(c.model, {c.rows, c.exec_at, c.latest}, c.delay, c.slots);
  loads_.set(c.model, c.need, now);
}

void rank_arbiter::on_time(time_point now) {
  if (now >= next_sample_) take_sample(now);
  if (open_) grant_poison_retries(now);
  matches_.clear();
  policy_->poll(now, matches_);
  send_backends();
  for (const auto& m : matches_) {
    ++grants_;
    auto& q = queues_[m.model];
    auto& s = slots_[m.slot];
    s.promised = true;
    q.granted = s.worker;
    if (log_.on()) log_.granted(now, m.model, q.sequence, m.slot, m.free_at, m.preempts);
    send(q.owner, grant{m.model, q.sequence, m.slot, *q.granted, m.free_at, false,
                        loads_.load(in_service_, now), m.preempts});
  }
}

void rank_arbiter::on_poison_retry(const address& from, const candidate& c) {
  std::erase_if(poison_retries_, [&](const poison_retry& s) { return s.model == c.model; });
  if (c.rows > 0) poison_retries_.push_back({c.model, from, c.sequence});
}

bool rank_arbiter::may_retry(const poison_retry& s, slot_id id, const slot& on) const {
  return !out_.contains(id) && accepts_orders(id, on.worker) &&
         std::find(on.models.begin(), on.models.end(), s.model) != on.models.end();
}

/// Takes the least busy node that has the first poison retry's model out of the ordinary business; of equals,
/// the one with the lowest slot. A poison retry whose model nobody has must not keep the others waiting.
void rank_arbiter::begin_quarantine() {
  const std::map<slot_id, slot*> ordered = [&] {
    std::map<slot_id, slot*> all;
    for (auto& [id, s] : slots_) all.emplace(id, &s);
    return all;
  }();
  std::map<node_id, size_t> busy;
  for (const auto& [id, s] : ordered) busy[s->worker.node] += s->orders.size() + s->promised;
  const slot* best = nullptr;
  for (const auto& who : poison_retries_) {
    for (const auto& [id, s] : ordered)
      if (may_retry(who, id, *s) && (best == nullptr || busy[s->worker.node] < busy[best->worker.node]))
        best = s;
    if (best != nullptr) break;
  }
  if (best == nullptr) return;
  quarantine_ = {best->worker.node, best->worker.incarnation, {}, {}};
  for (const auto& [id, s] : ordered)
    if (quarantine_->holds(s->worker) && !out_.contains(id)) policy_->remove_slot(id);
}

/// A slot whose grant is unanswered cannot be given back: it may be about to get another batch.
void rank_arbiter::end_quarantine(time_point now) {
  const auto promised = [&](const auto& x) {
    return x.second.promised && quarantine_->holds(x.second.worker);
  };
  if (std::any_of(slots_.begin(), slots_.end(), promised)) return;
  for (const auto& [id, s] : slots_)
    if (quarantine_->holds(s.worker) && !out_.contains(id) && accepts_orders(id, s.worker)) {
      policy_->add_slot(id, s.free_at(now));
      policy_->set_models(id, s.models);
      policy_->set_rows(id, s.rows());
    }
  quarantine_.reset();
}

/// The first poison retry that can run on the node in quarantine, by its position, and the lowest slot for
/// it.
std::optional<std::pair<size_t, slot_id>> rank_arbiter::next_poison_retry() const {
  if (!quarantine_) return {};
  for (size_t i = 0; i < poison_retries_.size(); ++i) {
    std::optional<slot_id> lowest;
    for (const auto& [id, s] : slots_)
      if (quarantine_->holds(s.worker) && may_retry(poison_retries_[i], id, s))
        lowest = std::min(lowest.value_or(id), id);
    if (lowest) return std::pair(i, *lowest);
  }
  return {};
}

void rank_arbiter::grant_poison_retries(time_point now) {
  if (quarantine_ ? quarantine_->runs.has_value() : poison_retries_.empty()) return;
  auto next = next_poison_retry();
  if (quarantine_ && !next) end_quarantine(now);
  if (!quarantine_) {
    begin_quarantine();
    next = next_poison_retry();
  }
  if (!next) return;
  for (const auto& [id, s] : slots_)
    if (quarantine_->holds(s.worker) && (!s.orders.empty() || s.promised)) return;
  const auto [position, at] = *next;
  const auto who = poison_retries_[position];
  poison_retries_.erase(poison_retries_.begin() + static_cast<ptrdiff_t>(position));
  quarantine_->runs = who.model;
  quarantine_->slot = at;
  ++grants_;
  send(who.owner, grant{who.model, who.sequence, at, slots_[at].worker, now, true});
}

void rank_arbiter::on_occupied(const occupied& o) {
  if (o.alone) {
    if (!quarantine_ || quarantine_->runs != o.model || quarantine_->slot != o.slot) return;
    auto& s = slots_[o.slot];
    if (o.batch == batch_id{}) return quarantine_->runs.reset();
    s.orders.push_back({o.batch, o.model, o.free_at});
    if (s.early) on_done(*std::exchange(s.early, {}));
    return;
  }
  const auto q = queues_.find(o.model);
  if (q == queues_.end() || !q->second.granted) return;
  const auto worker = *std::exchange(q->second.granted, {});
  const auto it = slots_.find(o.slot);
  if (it == slots_.end() || it->second.worker != worker)
    return policy_->occupy(o.model, o.slot, never);  // the slot went away meanwhile
  auto& s = it->second;
  s.promised = false;
  if (o.batch != batch_id{}) s.orders.push_back({o.batch, o.model, o.free_at, q->second.rows});
  // Two batches under way: the slot waits until one is done. None after all: what it has goes on.
  const auto free_at = std::max(o.free_at, s.free_at(o.free_at));
  policy_->occupy(o.model, o.slot, free_at);
  policy_->set_free_at(o.slot, free_at);  // if it was out of service in between, `occupy` had no effect
  policy_->set_rows(o.slot, s.rows());
  if (s.early && o.batch != batch_id{}) on_done(*std::exchange(s.early, {}));
}

void rank_arbiter::on_done(const batch_done& d) {
  if (const auto h = handed_.find(d.slot); h != handed_.end() && h->second.batch == d.batch)
    h->second.batch = {};
  const auto it = slots_.find(d.slot);
  if (it == slots_.end()) return;
  auto& s = it->second;
  const auto done = std::find_if(s.orders.begin(), s.orders.end(),
                                 [&](const order& x) { return x.batch == d.batch && x.model == d.model; });
  if (done == s.orders.end()) {
    s.early = d;
    return;
  }
  const auto planned = done->free_at;
  s.orders.erase(done);
  if (quarantine_ && quarantine_->runs == d.model && quarantine_->slot == d.slot) quarantine_->runs.reset();
  if (d.refused == refusal::none || d.refused == refusal::preempted) {
    s.busy += d.finished_at - d.started_at;  // in vain, too
    load_.busy += d.finished_at - d.started_at;
  }
  if (d.refused == refusal::preempted)
    ++preempted_;
  else if (d.refused != refusal::none)
    ++refused_;
  if (s.orders.empty()) {
    policy_->set_free_at(d.slot, d.finished_at);
  } else {
    // The batch behind it is late by as much as this one was.
    if (d.refused == refusal::none && d.finished_at > planned)
      s.orders.back().free_at += d.finished_at - planned;
    policy_->set_free_at(d.slot, s.free_at(d.finished_at));
  }
  policy_->set_rows(d.slot, s.rows());
}

void rank_arbiter::on_slot(const slot_ready& r, time_point now) {
  const auto& domains = domain_.of_slots;
  if (!domains.empty() && (r.slot.value >= domains.size() || domains[r.slot.value] != self_.index)) return;
  std::vector<model_id> models;
  for (const auto& m : r.models) models.push_back(m.model);
  learn_latencies(r);
  if (const auto it = slots_.find(r.slot); it != slots_.end()) {
    if (it->second.worker.incarnation == r.worker.incarnation) {
      it->second.models = models;
      return policy_->set_models(r.slot, models);
    }
    policy_->remove_slot(r.slot);
  }
  auto& s = slots_[r.slot] = {r.worker, models, {}, {}, false, {}};
  count_service();
  if (elected_) workers_[r.slot] = r.worker;
  begin_service(r.slot, s, now);
}

void rank_arbiter::on_change(const deployment& line, time_point now) {
  place(line);
  if (line.wanted != deployment_state::undeployed) {
    retired_.erase(line.model);
    return;
  }
  retired_.insert(line.model);
  forget_queue(line.model, now);
  std::erase_if(poison_retries_, [&](const poison_retry& s) { return s.model == line.model; });
  if (quarantine_ && quarantine_->runs == line.model) quarantine_->runs.reset();
}

void rank_arbiter::forget_slots(node_id node, incarnation_id incarnation) {
  if (quarantine_ && quarantine_->node == node && quarantine_->incarnation == incarnation)
    quarantine_.reset();
  std::vector<slot_id> gone;
  for (const auto& [id, s] : slots_)
    if (s.worker.node == node && s.worker.incarnation == incarnation) gone.push_back(id);
  for (auto id : gone) {
    policy_->remove_slot(id);
    slots_.erase(id);
    forget_latencies(id);
  }
  if (!gone.empty()) count_service();
}

/// A grant that it has not answered will not be answered any more.
void rank_arbiter::forget_queue(model_id model, time_point now) {
  policy_->remove_model(model, now);
  loads_.remove(model);
  const auto q = queues_.find(model);
  if (q == queues_.end()) return;
  for (auto& [id, s] : slots_) {
    if (q->second.granted != s.worker) continue;
    s.promised = false;
    policy_->set_free_at(id, s.free_at(now));  // what it runs goes on
    policy_->set_rows(id, s.rows());
  }
  queues_.erase(q);
}

void rank_arbiter::forget_queues(node_id node, incarnation_id incarnation, time_point now) {
  std::erase_if(poison_retries_, [&](const poison_retry& s) {
    return s.owner.node == node && s.owner.incarnation == incarnation;
  });
  std::vector<model_id> orphans;
  for (const auto& [id, q] : queues_)
    if (q.owner.node == node && q.owner.incarnation == incarnation) orphans.push_back(id);
  for (auto id : orphans) forget_queue(id, now);
}

void rank_arbiter::report(std::vector<metric>& out) const {
  const auto add = [&](const char* name, double value, metric::kind kind,
                       std::vector<std::pair<std::string, std::string>> labels = {}) {
    if (!domain_.name.empty()) labels.emplace_back("domain", domain_.name);
    out.push_back({name, std::move(labels), value, kind});
  };
  using enum metric::kind;
  const auto mine = std::count_if(slots_.begin(), slots_.end(),
                                  [&](const auto& x) { return accepts_orders(x.first, x.second.worker); });
  add("troupe_slots", static_cast<double>(mine), gauge);
  add("troupe_grants_total", static_cast<double>(grants_), counter);
  add("troupe_orders_refused_total", static_cast<double>(refused_), counter);
  add("troupe_orders_preempted_total", static_cast<double>(preempted_), counter);
  if (advisor_) {
    const auto& a = advisor_->advice();
    add("troupe_slots_in_service", static_cast<double>(in_service_), gauge);
    add("troupe_autoscale_advice", static_cast<double>(a.gpus), gauge);
    add("troupe_autoscale_bad_rate", a.bad_rate, gauge);
    add("troupe_autoscale_idle_fraction", a.idle, gauge);
  }
  std::vector<std::pair<slot_id, const slot*>> ordered;
  for (const auto& [id, s] : slots_) ordered.emplace_back(id, &s);
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [id, s] : ordered)
    add("troupe_slot_busy_seconds_total", to_seconds(s->busy), counter, {{"slot", std::to_string(id.value)}});
}

}  // namespace troupe
