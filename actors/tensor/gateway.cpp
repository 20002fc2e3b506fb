#include "actors/tensor/gateway.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "policies/common/resubmission.hpp"

namespace troupe {

gateway::gateway(address self, outbox& out, const options& o, memory_port& memory, client_port& clients,
                 tenant_limiter& tenants)
    : actor(self, out),
      options_(o),
      memory_(memory),
      clients_(clients),
      in_flight_({o.max_in_flight, o.drain_timeout}, tenants),
      scheduler_(o.scheduler, o.leader_candidates),
      models_(o.models),
      pulls_(o.max_pulled_bytes),
      decided_(o.decision_log) {}

void gateway::on(envelope& e, time_point now) {
  dispatch(e.body,
           overloaded{
               [&](client_request& c) { accept(c.asked, now); },
               [&](client_gone& c) { on_gone(c.id, now); },
               [&](drops& d) {
                 if (!scheduler_.outdated(e.from)) on_drops(d, now);
               },
               [&](suspects& s) { on_suspects(s); },
               [&](completion& c) {
                 if (!scheduler_.outdated(e.from)) on_completion(e.from, c, now);
               },
               [&](pulled& p) { on_pulled(p, now); },
               [&](node_up& n) { apply(scheduler_.on_node_up(n.node, n.incarnation), now); },
               [&](node_down& n) {
                 run_again(n.node, n.incarnation);
                 apply(scheduler_.on_node_down(n.node, n.incarnation), now);
               },
               [&](node_leaving& n) { apply(scheduler_.on_node_leaving(n.node, n.incarnation), now); },
               [&](leadership& t) { apply(scheduler_.on_leadership(t), now); },
               [&](new_incarnation&) { begin_anew(now); },
               [&](drain&) { in_flight_.drain(); },
               [&](model_change& c) {
                 models_.change(c.line, self_);
                 if (c.line.forgotten()) statistics_.forget(c.line.model);
               },
           });
}

void gateway::on_time(time_point now) {
  expire(now);
  pull_outputs(now);
  submits_.flush(now, [&](model_id model, submit s) {
    send(on_node(scheduler_.scheduler(), role::model_queue, model.value), std::move(s));
  });
  releases_.flush([&](const address& worker, release r) { send(worker, std::move(r)); });
  models_.report_idle(in_flight_.counts(),
                      [&](const model_idle& i) { send(on_node(self_.node, role::deployer), i); });
}

time_point gateway::next_wakeup() const {
  return std::min({in_flight_.next_expiry(late_.size()), pulls_.next_look(), submits_.next_due()});
}

void gateway::accept(const request& r, time_point now) {
  in_flight_request f;
  f.asked = r;
  f.asked.gateway = self_;
  f.accepted_at = now;
  const auto unserved = !models_.open(r.model)     ? drop_reason::undeployed
                        : !scheduler_.accepts(now) ? drop_reason::no_capacity
                                                   : drop_reason::none;
  if (const auto a = in_flight_.admit(r, unserved, late_.size(), now); a.refused != drop_reason::none) {
    give_back(r.input);
    return decide(f, a.refusal(), now, true);
  }
  const auto& added = in_flight_.add(std::move(f), r.deadline + options_.timeout);
  if (scheduler_.up()) submits_.add(added.asked);
}

void gateway::on_drops(const drops& d, time_point now) {
  for (const auto& dropped : d.requests) {
    const auto* known = in_flight_.find(dropped.id);
    if (known == nullptr) {
      forget_input(dropped.id);
      continue;
    }
    if (known->output) continue;  // a worker has offered the output already
    if (!planted(bug::leak_slot)) give_back(known->asked.input);
    auto f = planted(bug::double_outcome) ? *known : in_flight_.take(dropped.id);
    settle(f, outcome::dropped(dropped.reason), now);
  }
}

/// A later leader has not seen the loss: it learns of it with the request.
void gateway::on_suspects(const suspects& s) {
  if (planted(bug::forget_suspects)) return;
  for (const auto id : s.requests)
    if (auto* f = in_flight_.find(id)) f->asked.last_loss = s.loss;
}

void gateway::on_completion(const address& worker, const completion& c, time_point now) {
  bool counted = c.times.finished_at == never;  // the batch never ran
  for (const auto& r : c.results) {
    auto* const known = in_flight_.find(r.id);
    if (known != nullptr && known->output && known->output == r.output) continue;  // a repeated message
    if (known == nullptr || known->output) {
      ++late_answers_;
      forget_input(r.id);
      releases_.add(worker, r.output);
      continue;
    }
    if (r.error == failure::stale_memory && r.attempt < known->asked.attempt) continue;  // reported twice
    known->batch = c.batch;
    known->worker = worker;
    known->times = c.times;
    known->completed_at = now;
    if (!std::exchange(counted, true)) clients_.executed(known->asked.model, c.batch_rows, c.times);
    on_result(*known, c, r, now);
  }
}

void gateway::on_result(in_flight_request& f, const completion& c, const result& r, time_point now) {
  if (r.error == failure::none && r.output.size > 0 && r.output.size <= options_.max_output_bytes) {
    f.output = r.output;
    f.asked.last_loss = worker_loss::none;  // its worker has outlived it
    f.batch_rows = c.batch_rows;
    submits_.erase_later(r.id);
    return pulls_.add(r.id);
  }
  if (r.error == failure::stale_memory && try_again(f, r.attempt, now)) return;
  give_back(f.asked.input);
  auto ended = in_flight_.take(r.id);
  outcome how;
  how.batch_rows = c.batch_rows;
  if (r.error != failure::none) {
    how.kind = outcome_kind::failed;
    how.error = r.error;
    how.detail = r.detail;
    return decide(ended, how, now);
  }
  releases_.add(ended.worker, r.output);
  if (r.output.size == 0) return settle(ended, how, now);
  const auto detail = "the outputs take " + std::to_string(r.output.size) +
                      " bytes, more than limits.pool_mb = " + std::to_string(options_.max_output_bytes >> 20);
  how.kind = outcome_kind::failed;
  how.error = failure::device_error;
  how.detail = detail;
  decide(ended, how, now);
}

void gateway::on_pulled(const pulled& p, time_point now) {
  const request_id id{p.token};
  if (auto late = late_.take_pull(id)) {
    pulls_.end(late->worker.node, late->pulled.size());
    give_back(late->asked.input);
    releases_.add(late->worker, late->output);
    in_flight_.leave(*late);
    return;
  }
  auto* const known = in_flight_.find(id);
  if (known == nullptr || !known->being_pulled()) return;
  pulls_.end(known->worker.node, known->pulled.size());
  const auto payload =
      p.status == pull_status::ok ? memory_.verify(known->output, known->pulled) : std::nullopt;
  releases_.add(known->worker, known->output);
  if (!payload && try_again(*known, known->asked.attempt, now)) return;
  auto f = in_flight_.take(id);
  give_back(f.asked.input);
  outcome how;
  how.batch_rows = f.batch_rows;
  if (payload) {
    how.output = *payload;
    return settle(f, how, now);
  }
  how.kind = outcome_kind::failed;
  how.error = p.status == pull_status::lost ? failure::worker_lost : failure::stale_memory;
  decide(f, how, now);
}

void gateway::on_gone(request_id id, time_point now) {
  if (!in_flight_.contains(id)) return;
  auto f = in_flight_.take(id);
  const auto model = f.asked.model;
  const auto gone = outcome::dropped(drop_reason::cancelled);
  if (submits_.erase(model, id) && f.asked.attempt == 1) {
    give_back(f.asked.input);  // it was never sent
    return decide(f, gone, now);
  }
  // A worker may still read the input.
  send(on_node(scheduler_.scheduler(), role::model_queue, model.value), cancel{id});
  settle_early(std::move(f), gone, now);
}

void gateway::apply(scheduler_tracker::effect e, time_point now) {
  if (e == scheduler_tracker::effect::resubmit) submit_again();
  if (e != scheduler_tracker::effect::lost) return;
  // Requests that can get no answer fail. Workers that still read their inputs detect the reuse.
  for (const auto id : in_flight_.ids_where([](const in_flight_request& f) { return !f.output; }))
    settle_early(in_flight_.take(id), outcome::failed(failure::scheduler_lost), now);
  for (auto& f : late_.take_inputs()) {
    give_back(f.asked.input);
    in_flight_.leave(f);
  }
}

void gateway::expire(time_point now) {
  const auto outlived = [this](request_id id) { return late_.has_input(id); };
  while (const auto due = in_flight_.next_expired(now, outlived)) {
    if (planted(bug::no_expiry)) continue;
    const auto id = *due;
    if (!in_flight_.contains(id)) {
      forget_input(id);
      continue;
    }
    settle_early(in_flight_.take(id), outcome::failed(failure::timeout), now);
    in_flight_.expire_at(now + options_.timeout, id);
  }
}

void gateway::pull_outputs(time_point now) {
  if (pulls_.waiting() == 0) return;
  const auto offer = [this](request_id id) -> std::optional<offered_output> {
    const auto* f = in_flight_.find(id);
    if (f == nullptr || !f->output || f->being_pulled()) return {};  // settled, or runs again
    return offered_output{f->worker.node, f->output.size};
  };
  const auto begin = [this](request_id id) {
    auto& f = *in_flight_.find(id);
    f.pulled = memory_.pull_buffer(f.output);
    memory_.pull(f.output, f.pulled, self_, id.value);
    return f.pulled.size();
  };
  pulls_.pull(now, clients_.unwritten_bytes(), offer, begin);
}

/// Submits every request without an offered output, in the order of arrival. The new leader learns from the
/// workers which of them still run.
void gateway::submit_again() {
  submits_.clear();
  auto ids = in_flight_.ids_where([](const in_flight_request& f) { return !f.output; });
  std::stable_sort(ids.begin(), ids.end(), [this](request_id a, request_id b) {
    return in_flight_.find(a)->asked.arrival < in_flight_.find(b)->asked.arrival;
  });
  for (const auto id : ids) {
    auto& r = in_flight_.find(id)->asked;
    ++r.attempt;
    submits_.add(r);
  }
  submitted_again_ += ids.size();
}

/// Resubmits the requests whose offered output is lost with its worker. Pulls that have begun fail by
/// themselves; requests without an output are resubmitted by the model queue.
void gateway::run_again(node_id worker, incarnation_id incarnation) {
  const auto lost = in_flight_.ids_where([&](const in_flight_request& f) {
    return f.output && !f.being_pulled() && f.worker.node == worker && f.worker.incarnation == incarnation;
  });
  for (const auto id : lost) {
    auto& f = *in_flight_.find(id);
    f.output = {};
    ++f.asked.attempt;
    if (scheduler_.up()) submits_.add(f.asked);
  }
}

bool gateway::try_again(in_flight_request& f, uint32_t attempt, time_point now) {
  const auto due = resubmission_time(f.losses, now, f.asked.deadline);
  if (!due || !scheduler_.accepts(now)) return false;
  ++f.losses;
  ++submitted_again_;
  f.output = {};
  f.pulled = {};
  f.asked.attempt = std::max(f.asked.attempt, attempt) + 1;
  if (scheduler_.up()) submits_.add_later(f.asked, *due);
  return true;
}

/// The peers have forgotten the requests of the former incarnation. They are submitted when the scheduler is
/// up; pulls that have begun end by themselves.
void gateway::begin_anew(time_point now) {
  scheduler_.clear(now + options_.join_timeout);
  submits_.clear();
  releases_.clear();
  for (const auto id : in_flight_.ids_where([](const in_flight_request&) { return true; })) {
    auto& f = *in_flight_.find(id);
    f.asked.gateway = self_;
    if (!f.being_pulled()) f.output = {};
  }
}

void gateway::settle(in_flight_request& f, outcome how, time_point now) {
  if (planted(bug::miscount) && how.kind == outcome_kind::dropped)
    in_flight_.leave(f);
  else
    in_flight_.settle(f, how, now);
  submits_.erase_later(f.asked.id);
  how.times = f.times;
  how.completed_at = f.completed_at;
  const bool finished = how.kind == outcome_kind::finished;
  if (finished) statistics_.finish(f.asked.model, how.latency, now <= f.asked.deadline);
  // The buffer of an unfinished request stays: a pull may still write to it.
  clients_.answer(f.asked.id, how, finished ? std::move(f.pulled) : std::vector<std::byte>{});
  if (recorder_.on()) [[unlikely]]
    recorder_.add(f, how, now);
}

void gateway::decide(in_flight_request& f, const outcome& how, time_point now, bool at_admission) {
  decided_.add(f, how, now, at_admission, in_flight_.size());
  settle(f, how, now);
}

void gateway::settle_early(in_flight_request f, const outcome& how, time_point now) {
  const bool charged = planted(bug::leave_early) ? false : std::exchange(f.charged, false);
  decide(f, how, now);
  f.charged = charged;
  if (f.being_pulled()) return late_.add_pull(std::move(f));
  if (!f.output) return late_.add_input(std::move(f));
  give_back(f.asked.input);
  releases_.add(f.worker, f.output);
  in_flight_.leave(f);
}

void gateway::forget_input(request_id id) {
  auto late = late_.take_input(id);
  if (!late) return;
  give_back(late->asked.input);
  in_flight_.leave(*late);
}

void gateway::give_back(const region_ref& region) {
  if (region) memory_.give_back(region);
}

}  // namespace troupe
