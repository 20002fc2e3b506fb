#include "actors/tensor/gateway.hpp"

#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

constexpr int max_requests_per_message = 4096;  // requests in one `submit`: a frame takes them

}  // namespace

gateway::gateway(address self, outbox& out, const options& o, memory_port& memory, client_port& clients,
                 tenant_limiter& tenants)
    : actor(self, out),
      options_(o),
      memory_(memory),
      clients_(clients),
      tenants_(tenants),
      scheduler_(o.scheduler),
      decided_(o.decision_log) {
  for (const auto& m : o.models) models_.push_back({m, true, {}, {}});
}

void gateway::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](client_request& c) { accept(c.asked, now); },
                       [&](client_gone& c) { on_gone(c.id, now); },
                       [&](drops& d) {
                         if (!outdated(e.from)) on_drops(d, now);
                       },
                       [&](completion& c) {
                         if (!outdated(e.from)) on_completion(e.from, c, now);
                       },
                       [&](pulled& p) { on_pulled(p, now); },
                       [&](node_up& n) { on_node_up(n); },
                       [&](node_down& n) { on_node_down(n, now); },
                       [&](node_leaving& n) { on_node_leaving(n); },
                       [&](leadership& t) { on_leadership(t); },
                       [&](new_incarnation&) { start_over(now); },
                       [&](drain&) { draining_ = true; },
                       [&](model_change& c) { on_change(c.line); },
                   });
}

void gateway::accept(request& r, time_point now) {
  r.gateway = self_;
  ledger_.accept(r.model);
  in_flight_request f;
  f.asked = r;
  f.accepted_at = now;
  const auto refuse = [&](drop_reason why, duration retry_after = {}, const char* detail = "") {
    give_back(r.input);
    outcome how{outcome_kind::dropped, why, failure::none, {}, 0, {}, detail};
    how.retry_after = retry_after;
    decide(f, how, now, true);
  };
  if (draining_) return refuse(drop_reason::draining, options_.drain_timeout);
  if (r.model.value >= models_.size() || !models_[r.model.value].open) return refuse(drop_reason::undeployed);
  if (!scheduler_up_ && candidates_up_.empty()) return refuse(drop_reason::no_capacity);
  if (in_flight_.size() + late_inputs_.size() + late_pulls_.size() >= options_.max_in_flight)
    return refuse(drop_reason::queue_full);
  if (const auto asked = tenants_.admit(r.tenant, now); !asked.admitted)
    return refuse(drop_reason::quota, asked.retry_after, asked.over_concurrency ? "concurrency" : "rate");
  f.counted = true;
  if (scheduler_up_) models_[r.model.value].next.requests.push_back(r);
  expiries_.add(r.deadline + options_.timeout, r.id);
  in_flight_.add(r.id, std::move(f));
}

void gateway::on_time(time_point now) {
  expire(now);
  pull_outputs(now);
  for (size_t i = 0; i < models_.size(); ++i) {
    auto& next = models_[i].next;
    if (next.requests.empty()) continue;
    const auto queue = on_node(scheduler_, role::model_queue, static_cast<uint32_t>(i));
    // What waited for a scheduler can be more than a frame takes.
    auto& waiting = next.requests;
    auto first = waiting.begin();
    for (; waiting.end() - first > max_requests_per_message; first += max_requests_per_message)
      send(queue, submit{{first, first + max_requests_per_message}});
    waiting.erase(waiting.begin(), first);
    send(queue, std::move(next));
    next = {};
  }
  for (auto& [worker, r] : releases_) send(worker, std::move(r));
  releases_.clear();
  if (!retiring_.empty()) report_idle();
}

void gateway::on_change(const deployment& line) {
  if (line.model.value >= models_.size()) models_.resize(line.model.value + 1);
  auto& m = models_[line.model.value];
  m.name = line.definition.name;
  m.open = line.wanted == deployment_state::deployed;
  std::erase_if(retiring_, [&](const model_idle& i) { return i.model == line.model; });
  if (line.wanted == deployment_state::retiring) retiring_.push_back({line.model, line.revision, self_});
}

/// Of models whose last request has its outcome.
void gateway::report_idle() {
  const auto counts = ledger_.by_model();
  std::erase_if(retiring_, [&](const model_idle& i) {
    if (i.model.value < counts.size() && !counts[i.model.value].balanced(0)) return false;
    send(on_node(self_.node, role::deployer), i);
    return true;
  });
}

time_point gateway::next_wakeup() const { return std::min(expiries_.next(), look_for_room_at_); }

void gateway::on_drops(const drops& d, time_point now) {
  for (const auto& dropped : d.requests) {
    const auto* known = in_flight_.find(dropped.id);
    if (known == nullptr) {
      forget_input(dropped.id);
      continue;
    }
    if (known->output) continue;  // a worker was faster: its result is on the way
    if (!planted(bug::leak_slot)) give_back(known->asked.input);
    auto f = planted(bug::double_outcome) ? *known : in_flight_.take(dropped.id);
    settle(f, {outcome_kind::dropped, dropped.reason, failure::none, {}, 0, {}}, now);
  }
}

void gateway::on_gone(request_id id, time_point now) {
  if (!in_flight_.contains(id)) return;
  auto f = in_flight_.take(id);
  const auto model = f.asked.model.value;
  const outcome gone{outcome_kind::dropped, drop_reason::cancelled, failure::none, {}, 0, {}};
  const bool held =
      std::erase_if(models_[model].next.requests, [&](const request& r) { return r.id == id; }) > 0;
  if (held && f.asked.attempt == 1) {
    give_back(f.asked.input);  // nobody has heard of it
    return decide(f, gone, now);
  }
  // Of one that is to be submitted again a worker may read the input.
  send(on_node(scheduler_, role::model_queue, model), cancel{id});
  settle_early(std::move(f), gone, now);
}

void gateway::expire(time_point now) {
  if (planted(bug::no_expiry)) expiries_.clear();
  const auto waits = [this](request_id id) { return in_flight_.contains(id) || late_inputs_.contains(id); };
  while (const auto due = expiries_.pop(now, waits)) {
    const auto id = *due;
    if (!in_flight_.contains(id)) {
      forget_input(id);
      continue;
    }
    settle_early(in_flight_.take(id), {outcome_kind::failed, drop_reason::none, failure::timeout, {}, 0, {}},
                 now);
    expiries_.add(now + options_.timeout, id);
  }
}

void gateway::start_over(time_point now) {
  scheduler_up_ = false;
  candidates_up_.clear();
  for (auto& m : models_) m.next = {};
  releases_.clear();
  fail_all(failure::node_fenced, now);
}

/// Nobody will answer for these any more. A worker may still read their inputs: it will notice the reuse.
void gateway::fail_all(failure why, time_point now) {
  std::vector<request_id> ids;
  for (const auto& [id, f] : in_flight_.entries())
    if (!f.output || why == failure::node_fenced) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (auto id : ids) {
    settle_early(in_flight_.take(id), {outcome_kind::failed, drop_reason::none, why, {}, 0, {}}, now);
  }
  for (auto& [id, f] : std::exchange(late_inputs_, {})) {
    give_back(f.asked.input);
    leave(f);
  }
}

void gateway::settle_early(in_flight_request f, const outcome& how, time_point now) {
  const bool counted = planted(bug::leave_early) ? false : std::exchange(f.counted, false);
  decide(f, how, now);
  f.counted = counted;
  const auto id = f.asked.id;
  if (f.output && f.pulled.empty())
    abandon_output(f);
  else if (f.output)
    late_pulls_.emplace(id.value, std::move(f));
  else
    late_inputs_.emplace(id, std::move(f));
}

void gateway::leave(in_flight_request& f) {
  if (std::exchange(f.counted, false)) tenants_.leave(f.asked.tenant);
}

void gateway::settle(in_flight_request& f, outcome how, time_point now) {
  const auto model = f.asked.model;
  how.arrival = f.asked.arrival;
  how.latency = now - f.asked.arrival;
  leave(f);
  how.times = f.times;
  how.accepted_at = f.accepted_at;
  how.completed_at = f.completed_at;
  switch (how.kind) {
    case outcome_kind::finished:
      ledger_.finish(model);
      models_[model.value].latency.add(how.latency);
      models_[model.value].in_time += now <= f.asked.deadline;
      break;
    case outcome_kind::dropped:
      if (!planted(bug::miscount)) ledger_.drop(model, how.reason);
      break;
    case outcome_kind::failed: ledger_.fail(model, how.error); break;
  }
  const bool finished = how.kind == outcome_kind::finished;  // else a pull may still write there
  clients_.answer(f.asked.id, how, finished ? std::move(f.pulled) : std::vector<std::byte>{});
  if (traced_) [[unlikely]]
    trace(f, how, now);
}

void gateway::give_back(const region_ref& region) {
  if (region) memory_.give_back(region);
}

void gateway::forget_input(request_id id) {
  const auto it = late_inputs_.find(id);
  if (it == late_inputs_.end()) return;
  give_back(it->second.asked.input);
  leave(it->second);
  late_inputs_.erase(it);
}

}  // namespace troupe
