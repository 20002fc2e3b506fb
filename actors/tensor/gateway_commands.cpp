// What a gateway can be asked from outside (messages/commands/commands.hpp).
#include <algorithm>
#include <map>

#include "actors/common/reason_counts.hpp"
#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/gateway.hpp"
#include "actors/tensor/open_requests.hpp"
#include "messages/commands/run_command.hpp"
#include "policies/common/random.hpp"

namespace troupe {

command_reply gateway::on_command(const command& c, time_point now) {
  return run_command(gateway_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(); },
                         [&](const get_ledger&) { return ledger_of_models(); },
                         [&](const get_latencies&) { return latencies(); },
                         [&](const list_requests& l) { return list(l, now); },
                         [&](const cancel_request& r) {
                           if (!in_flight_.contains(r.id))
                             throw command_refused("cancel_request.id: no such request is in flight here");
                           on_gone(r.id, now);
                           return acknowledged{};
                         },
                         [&](const start_trace& s) {
                           if (s.sample == 0) throw command_refused("start_trace.sample: must be 1 or more");
                           traced_.emplace(std::min<uint32_t>(s.capacity, largest_trace));
                           trace_sample_ = s.sample;
                           return acknowledged{};
                         },
                         [&](const take_trace& t) {
                           if (!traced_) throw command_refused("nothing is recorded; send start_trace first");
                           traced_requests out;
                           out.lost = traced_->take_lost();
                           out.requests = traced_->take(std::min(t.limit, longest_list));
                           out.more = traced_->size() > 0;
                           return out;
                         },
                         [&](const stop_trace&) {
                           traced_.reset();
                           return acknowledged{};
                         },
                         [&](const explain_request& e) { return explain(e.id); },
                         [&](const set_decision_log& s) {
                           decided_ = recent_ring<decided>(checked(s));
                           return acknowledged{};
                         },
                     });
}

std::string_view gateway::state() const {
  return draining_ ? "draining" : scheduler_up_ ? "serving" : "no scheduler";
}

gateway_state gateway::describe() const {
  const auto all = ledger_.total();
  gateway_state s;
  s.in_flight = in_flight_.size();
  s.accepted = all.accepted;
  s.finished = all.finished;
  for (const auto n : all.dropped) s.dropped += n;
  for (const auto n : all.failed) s.failed += n;
  s.late_answers = late_answers_;
  s.balanced = balanced();
  s.draining = draining_;
  s.scheduler_up = scheduler_up_;
  return s;
}

/// A model that was changed under its name has had several ids; outside it is one.
ledger_report gateway::ledger_of_models() const {
  std::map<std::string, std::pair<outcome_counts, uint64_t>> models;
  const auto counts = ledger_.by_model();
  for (size_t i = 0; i < models_.size(); ++i) {
    auto& [sum, in_time] = models[models_[i].name];
    if (i < counts.size()) sum += counts[i];
    in_time += models_[i].in_time;
  }
  ledger_report out;
  for (const auto& [model, said] : models) {
    const auto& [b, in_time] = said;
    ledger_line line;
    line.model = model;
    line.accepted = b.accepted;
    line.finished = b.finished;
    line.in_time = in_time;
    line.dropped = reason_counts<drop_reason>(b.dropped);
    line.failed = reason_counts<failure>(b.failed);
    out.models.push_back(std::move(line));
  }
  return out;
}

latency_report gateway::latencies() const {
  std::map<std::string, latency_histogram> models;
  for (const auto& m : models_) models[m.name].merge(m.latency);
  latency_report out;
  for (const auto& [model, latency] : models) {
    model_latencies m{model, {}};
    for (const auto& [value, count] : latency.counts()) m.counts.push_back({value, count});
    out.models.push_back(std::move(m));
  }
  return out;
}

open_requests gateway::list(const list_requests& asked, time_point now) const {
  std::vector<open_request> all;
  for (const auto& [id, f] : in_flight_.entries()) {
    const auto& r = f.asked;
    all.push_back({id, r.model, r.rows, r.attempt, now - r.arrival, r.deadline - now,
                   f.output ? "pulling" : "waiting"});
  }
  return answer_to(asked, std::move(all));
}

void gateway::trace(const in_flight_request& f, const outcome& how, time_point now) {
  uint64_t mixed = f.asked.id.value;  // ids count up: take a fair sample of them
  if (splitmix64(mixed) % trace_sample_ != 0) return;
  request_trace t;
  t.id = f.asked.id;
  t.model = f.asked.model;
  t.rows = f.asked.rows;
  t.outcome = how.kind == outcome_kind::finished  ? "finished"
              : how.kind == outcome_kind::dropped ? "dropped"
                                                  : "failed";
  if (how.kind == outcome_kind::dropped) t.reason = to_string(how.reason);
  if (how.kind == outcome_kind::failed) t.reason = to_string(how.error);
  t.batch = f.batch;
  t.slot = slot_id{f.worker.index};
  t.arrival = f.asked.arrival;
  t.accepted_at = f.accepted_at;
  t.times = f.times;
  t.completed_at = f.completed_at;
  t.answered_at = now;
  traced_->push(std::move(t));
}

}  // namespace troupe
