#include "actors/tensor/model_queue.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "policies/batching/batch_returns.hpp"

namespace troupe {
namespace {

/// Unequal to any window, so that the candidate is sent again: the arbiter has consumed the last one.
constexpr batch_window unknown{~0u, never, never};
constexpr batch_window nothing{};

request_queue::options request_options(const model_queue::options& o) {
  return {{o.network, o.parameters.response, o.margin},
          o.max_queued_rows,
          o.latency_given,
          o.decision_log,
          o.load_report,
          o.queues};
}

std::vector<backend> planned(const backends& b) {
  std::vector<backend> out;
  for (const auto& x : b.of) out.push_back({x.slot, x.batch, x.weight});
  return out;
}

std::optional<latency_model> measured(const slot_ready& s, model_id model) {
  std::optional<latency_model> out;
  for (const auto& m : s.models)
    if (m.model == model) out = latency_model{m.alpha, m.beta};
  return out;
}

completion failed(const request& r, failure why, batch_id batch, uint32_t batch_rows) {
  return {batch, batch_rows, {{r.id, r.attempt, why, {}, {}}}};
}

bool every_request(const request&) { return true; }

}  // namespace

model_queue::model_queue(address self, outbox& out, const options& o, std::unique_ptr<batching_policy> policy)
    : actor(self, out),
      options_(o),
      requests_(request_options(o), std::move(policy)),
      placements_(o.slot_domains, o.arbiter.index, o.slot_nodes),
      leading_(o.elected, o.term, o.first_batch, o.max_queued_rows) {
  if (o.leaving != no_domain) move_.begin(o.revision, o.leaving);
}

void model_queue::on(envelope& e, time_point now) {
  if (ended_) return on_message_after_end(e.body, now);
  // Placements are applied once for a run of such messages: large clusters send thousands of them.
  const bool about_placements =
      std::holds_alternative<slot_ready>(e.body) || std::holds_alternative<slot_service>(e.body);
  if (placements_.changed() && !about_placements) apply_placements();
  const bool other_domain = e.from.index != options_.arbiter.index;
  dispatch(e.body, overloaded{
                       [&](submit& s) {
                         for (auto& r : s.requests) take(r, now);
                       },
                       [&](cancel& c) { cancelled_.push_back(c.id); },
                       [&](grant& g) {
                         if (e.from.kind == role::rank_arbiter && other_domain)
                           return decline(g, e.from, g.free_at);
                         if (g.alone) return on_grant_alone(g, now);
                         on_grant(g, now);
                       },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](batch_done& d) { on_done(d, now); },
                       [&](completion& c) { pass_on(c); },
                       [&](slot_ready& s) { placements_.set(s.slot, s.worker, measured(s, options_.model)); },
                       [&](slot_service& s) { placements_.set_service(s.slot, s.in); },
                       [&](node_down& d) { on_node_down(d, now); },
                       [&](node_leaving& l) {
                         placements_.forget(l.node, l.incarnation);
                         apply_placements();
                       },
                       [&](backends& b) {
                         if (!other_domain) requests_.policy().set_backends(planned(b), now);
                       },
                       [&](leadership& t) { on_leadership(t, now); },
                       [&](handover& h) { adopt(h, now); },
                       [&](query_received& q) {
                         send(e.from, received_requests{q.token, received_});
                       },
                       [&](new_incarnation&) { begin_anew(); },
                   });
}

void model_queue::on_message_after_end(actor_message& m, time_point now) {
  dispatch(m, overloaded{
                  [&](batch_done& d) {
                    if (in_flight_.contains(d.batch)) on_done(d, now);
                  },
                  [&](completion& c) { pass_on(c); },
                  [&](node_down& d) { on_node_down(d, now); },
                  [&](leadership& t) {
                    if (options_.elected && t.later_than(leadership_)) forget_requests();
                  },
                  [&](new_incarnation&) { forget_requests(); },
              });
}

void model_queue::take(const request& r, time_point now) {
  switch (leading_.arrive(r)) {
    case queue_leadership::arrival::taken: break;
    case queue_leadership::arrival::too_many: return requests_.drop(r, drop_reason::queue_full);
    case queue_leadership::arrival::known:  // its gateway accepts reports of its latest attempt only
      return requests_.table().for_each([&](uint32_t, request& known) {
        if (known.id == r.id) known.attempt = std::max(known.attempt, r.attempt);
      });
    default: return;
  }
  ++received_;
  auto kept = r;
  if (r.last_loss == worker_loss::none) {
    kept.last_loss = requests_.loss_of(r.id);
    if (kept.last_loss != worker_loss::none) send(r.gateway, suspects{kept.last_loss, {r.id}});
  }
  const auto handle = requests_.keep(kept, now);
  kept.last_loss == worker_loss::none ? requests_.queue_up(handle, now) : requests_.queue_alone(handle, now);
}

/// Handles all cancellations of a turn at once, because thousands of clients may disconnect together.
/// Cancelled requests of batches in flight still run and are answered.
void model_queue::give_up_cancelled(time_point now) {
  if (cancelled_.empty()) return;
  if (planted(bug::throw_up)) throw std::logic_error("planted");
  std::sort(cancelled_.begin(), cancelled_.end());
  const auto cancelled = [&](const request& r) {
    return std::binary_search(cancelled_.begin(), cancelled_.end(), r.id);
  };
  requests_.give_up_if(cancelled, drop_reason::cancelled, {drop_rule::cancelled}, now);
  leading_.remove_held_if([&](const request& r) {
    const bool gone = cancelled(r);
    if (gone) requests_.drop(r, drop_reason::cancelled);
    return gone;
  });
  cancelled_.clear();
}

void model_queue::on_time(time_point now) {
  if (ended_) return send_drops(now);
  if (placements_.changed()) apply_placements();
  give_up_cancelled(now);
  requests_.place_waiting(now);
  requests_.policy().update(now, long_ago);
  requests_.give_up_late_retries(now);
  send_candidates(now);
  send_drops(now);
  const auto runs_in = [&](uint32_t domain) {
    return in_flight_.any_worker(
        [&](const address& worker) { return placements_.domain_of(slot_id{worker.index}) == domain; });
  };
  if (const auto revision = move_.finish(runs_in))
    send(on_node(self_.node, role::deployer), model_idle{options_.model, *revision, self_});
  if (const auto load = requests_.ends().load.take(now))
    send(options_.arbiter, queue_load{load->good, load->bad});
}

time_point model_queue::next_wakeup() const {
  const auto& policy = requests_.policy();
  return std::min({policy.wake_at(), requests_.retries().wake_at(policy.latency()), requests_.waiting_due(),
                   requests_.ends().load.due_at()});
}

/// Drops the waiting requests. Batches in flight go on: their workers answer the gateways, or refuse them.
void model_queue::end(time_point now) {
  ended_ = true;
  placements_.clear();
  requests_.set_slots({});
  requests_.give_up_if(every_request, drop_reason::no_capacity, {drop_rule::no_worker}, now);
  for (const auto& r : leading_.take_held()) requests_.drop(r, drop_reason::no_capacity);
  send_drops(now);
}

void model_queue::on_grant(const grant& g, time_point now) {
  auto& policy = requests_.policy();
  const auto promised =
      std::max(policy.choose(g.slot, std::exchange(sent_window_, unknown)).exec_at, g.free_at);
  // The arbiter learns of a lost worker too. Until then the delay keeps it from repeating the grant at once.
  if (!placements_.has(g.slot, g.worker.incarnation))
    return decline(g, options_.arbiter, std::max(g.free_at, now + 100us));
  policy.set_load(g.load);
  policy.update(now, g.free_at);
  const auto window = policy.window();
  if (window.rows == 0 || paused_) return decline(g, options_.arbiter, g.free_at);
  const auto exec_at = std::min(promised, window.exec_at);  // a late grant does not move the plan
  order(g, requests_.take_batch(leading_.next_batch(), now), exec_at, window.latest + options_.margin,
        window.exec_at, now);
}

void model_queue::on_grant_alone(const grant& g, time_point now) {
  auto& retries = requests_.retries();
  retries.withdraw();
  requests_.give_up_late_retries(now);
  const bool lost = !placements_.has(g.slot, g.worker.incarnation);
  if (lost) retries.delay_offer(now + 1ms);  // until the arbiter learns of the loss
  if (lost || retries.empty()) return decline(g, options_.arbiter, g.free_at);
  const auto start_by = retries.front().latest_start(requests_.policy().latency());
  order(g, requests_.take_poison_retry(leading_.next_batch()), now, start_by, now, now);
}

/// Answers a grant with a batch that is planned to run from `run_from` on and must start by `start_by`.
void model_queue::order(const grant& g, request_queue::batch batch, time_point exec_at, time_point start_by,
                        time_point run_from, time_point now) {
  const auto end = run_from + requests_.policy().latency_of(batch.requests.front().shape_class)(batch.rows);
  batch_order o;
  o.batch = leading_.new_batch();
  o.term = leading_.term();
  o.model = options_.model;
  o.slot = g.slot;
  o.queue = self_;
  o.ordered_at = now;
  o.exec_at = exec_at;
  o.start_by = start_by;
  o.requests = std::move(batch.requests);
  o.preempts = g.preempts;
  if (auto& log = requests_.ends().log; log.on()) log.begin(g, o, batch.rows, end, now);
  send(options_.arbiter, occupied{options_.model, g.sequence, g.slot, o.batch, end, batch.in_flight.alone});
  batch.in_flight.worker = g.worker;
  in_flight_.add(o.batch, std::move(batch.in_flight));
  ++batches_;
  batched_rows_ += batch.rows;
  send(g.worker, std::move(o));
}

/// Answers a grant without a batch.
void model_queue::decline(const grant& g, const address& arbiter, time_point free_at) {
  send(arbiter, occupied{g.model, g.sequence, g.slot, {}, free_at, g.alone});
}

void model_queue::on_done(const batch_done& d, time_point now) {
  const auto batch = in_flight_.take(d.batch);
  if (!batch) return leading_.keep_early(d);
  if (auto& log = requests_.ends().log; log.on()) log.end(d, now);
  // A worker also reports stale inputs to a gateway that it knows; the first message counts.
  for (const auto id : d.stale)
    for (const auto handle : batch->handles)
      if (const auto& r = requests_.table()[handle]; r.id == id)
        send(r.gateway, failed(r, failure::stale_memory, d.batch, d.rows));
  if (d.refused == refusal::preempted && planted(bug::forget_preempted))
    release_batch(requests_, *batch);
  else if (d.refused == refusal::preempted)
    preempted_ += run_batch_again(requests_, *batch, now);
  else if (d.refused == refusal::none || d.refused == refusal::late)
    finish_batch(requests_, *batch, d, now);
  else
    resubmitted_ += resubmit_batch(requests_, *batch, options_.max_attempts, now);
}

/// Sends results that a worker could not deliver to the gateways of their requests.
void model_queue::pass_on(const completion& undelivered) {
  std::map<node_id, completion> by_gateway;
  for (const auto& r : undelivered.results) by_gateway[gateway_of(r.id).node].results.push_back(r);
  for (auto& [node, results] : by_gateway) send(on_node(node, role::gateway), std::move(results));
}

void model_queue::on_node_down(const node_down& d, time_point now) {
  placements_.forget(d.node, d.incarnation);
  apply_placements();
  lost_with_gateway_ += forget_gateway(requests_, d.node, d.incarnation);
  const auto loss = d.crashed ? worker_loss::worker_crashed : worker_loss::worker_lost;
  for (const auto& [id, batch] : in_flight_.take_of(d.node, d.incarnation)) {
    if (auto& log = requests_.ends().log; log.on()) log.lose(id, d.crashed, now);
    if (batch.alone) {
      const auto verdict = judge_poison_retry(requests_, batch, loss);
      if (!verdict) continue;
      poisoned_ += verdict->why == failure::poison;
      send(verdict->what.gateway, failed(verdict->what, verdict->why, id, verdict->what.rows));
    } else {
      if (!planted(bug::trust_everybody))
        for (auto& [gateway, of_it] : note_loss(requests_, batch, loss, now)) send(gateway, std::move(of_it));
      resubmitted_ += resubmit_batch(requests_, batch, options_.max_attempts, now);
    }
  }
}

void model_queue::apply_placements() { requests_.set_slots(placements_.take_summary()); }

void model_queue::on_change(const deployment& line, time_point now) {
  if (line.model != options_.model || line.wanted == deployment_state::undeployed) return;
  if (line.domain != options_.arbiter.index) go_over_to(line.domain, now);
  move_.cancel();
  if (line.leaving != no_domain && line.wanted == deployment_state::deployed)
    move_.begin(line.revision, line.leaving);
}

/// Withdraws the candidates from the old domain's arbiter; the new one gets them with the next turn's end.
void model_queue::go_over_to(uint32_t domain, time_point now) {
  send(options_.arbiter, candidate{options_.model, ++sequence_, 0, never, long_ago, {}});
  if (requests_.retries().withdraw())
    send(options_.arbiter, candidate{options_.model, ++sequence_, 0, never, never, {}, true});
  options_.arbiter.index = domain;
  sent_window_ = unknown;
  requests_.policy().set_backends({}, now);
  placements_.go_over_to(domain);
  apply_placements();
}

void model_queue::on_leadership(const leadership& latest, time_point now) {
  if (!options_.elected || !latest.later_than(leadership_)) return;
  leadership_ = latest;
  forget_requests();
  leading_.begin_term(latest.term, latest.scheduler == self_.node && latest.incarnation == self_.incarnation);
  const auto held = leading_.take_held();
  if (!leading_.leads()) return;
  placements_.await(now + options_.join_timeout);
  apply_placements();
  for (const auto& r : held) take(r, now);
}

/// Adopts a batch that the last leader ordered and a worker still runs.
void model_queue::adopt(const handover& h, time_point now) {
  if (!leading_.adopts(h) || in_flight_.contains(h.batch)) return;
  auto running = h.requests;
  requests_.release_if([&](const request& r) {  // already resubmitted by a gateway
    const auto same =
        std::find_if(running.begin(), running.end(), [&](const request& x) { return x.id == r.id; });
    if (same != running.end()) same->attempt = std::max(same->attempt, r.attempt);
    return same != running.end();
  });
  in_flight_batch batch;
  batch.worker = h.worker;
  batch.alone = running.size() == 1 && running.front().last_loss != worker_loss::none;
  for (const auto& r : running) batch.handles.push_back(requests_.keep(r, now));
  in_flight_.add(h.batch, std::move(batch));
  if (const auto early = leading_.adopt(h)) on_done(*early, now);
}

/// Drops all state of the old incarnation; the gateways decide the outcomes of its requests.
void model_queue::begin_anew() {
  leading_.begin_incarnation(self_.incarnation);
  forget_requests();
  cancelled_.clear();
  placements_.clear();
  requests_.set_slots({});
}

void model_queue::forget_requests() {
  requests_.forget_all();
  in_flight_.clear();
  leading_.forget_takeover();
  sent_window_ = unknown;
}

void model_queue::send_drops(time_point now) {
  requests_.flush_drops(now, [&](const address& gateway, drops list) {
    if (!planted(bug::lose_drops)) send(gateway, std::move(list));
  });
}

/// Sends changes to the arbiter: the ordinary candidate, and the first poison retry.
void model_queue::send_candidates(time_point now) {
  const auto& policy = requests_.policy();
  const auto& w = paused_ ? nothing : policy.window();
  const auto slots = policy.slots();
  if (w != sent_window_ || !std::equal(slots.begin(), slots.end(), sent_slots_.begin(), sent_slots_.end())) {
    sent_window_ = w;
    sent_slots_.assign(slots.begin(), slots.end());
    if (auto& log = requests_.ends().log; log.on()) log.offered(now, sequence_ + 1, w);
    send(options_.arbiter,
         candidate{options_.model, ++sequence_, w.rows, w.exec_at, w.latest,
                   std::max(options_.network(w.rows), policy.lead()), false, policy.need(), sent_slots_});
  }
  if (const auto rows = requests_.retries().offer(now))
    send(options_.arbiter, candidate{options_.model, ++sequence_, *rows, now, never, {}, true});
}

}  // namespace troupe
