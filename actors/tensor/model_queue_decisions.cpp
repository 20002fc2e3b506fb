// What a model queue remembers of its decisions, and tells when it is asked (messages/tensor/decisions.hpp).
#include <algorithm>

#include "actors/tensor/model_queue.hpp"

namespace troupe {
namespace {

std::string_view to_string(drop_rule r) {
  switch (r) {
    case drop_rule::no_worker: return "no_worker";
    case drop_rule::queue_bound: return "queue_bound";
    case drop_rule::batching: return "batching";
    case drop_rule::cancelled: return "cancelled";
    case drop_rule::attempts: return "attempts";
    case drop_rule::not_started: return "not_started";
    case drop_rule::preempted: return "preempted";
    case drop_rule::poison_retry_too_late: return "poison_retry_too_late";
  }
  return {};
}

std::string_view to_string(decision_log::batch_status f) {
  switch (f) {
    case decision_log::batch_status::running: return "running";
    case decision_log::batch_status::done: return "done";
    case decision_log::batch_status::refused: return "refused";
    case decision_log::batch_status::preempted: return "preempted";
    case decision_log::batch_status::worker_lost: return "worker_lost";
    case decision_log::batch_status::worker_crashed: return "worker_crashed";
  }
  return {};
}

}  // namespace

decision_log::known_request model_queue::known(uint32_t handle) const {
  const auto& e = requests_.all_of(handle);
  const auto& r = e.what;
  return {r.id, r.arrival, r.deadline, e.taken_at, r.rows, e.rows_ahead, r.attempt};
}

void model_queue::log_batch(const grant& g, const batch_order& o, uint32_t rows, time_point end,
                            time_point now) {
  decision_log::granted_batch b{};
  b.id = batch_id{next_batch_};
  b.sequence = g.sequence;
  b.slot = g.slot;
  b.at = now;
  b.free_at = g.free_at;
  b.rows = rows;
  b.requests = static_cast<uint32_t>(o.requests.size());
  b.alone = g.alone;
  b.exec_at = o.exec_at;
  b.start_by = o.start_by;
  b.end = end;
  log_.begin(b);
}

void model_queue::log_end(const batch_done& d, time_point now) {
  if (d.refused == refusal::none)
    log_.end(d.batch, decision_log::batch_status::done, d.refused, d.started_at, d.finished_at);
  else if (d.refused == refusal::preempted)
    log_.end(d.batch, decision_log::batch_status::preempted, d.refused, d.started_at, d.finished_at);
  else
    log_.end(d.batch, decision_log::batch_status::refused, d.refused, never, now);
}

batch_decision model_queue::describe_batch(const decision_log::granted_request& g) const {
  batch_decision out;
  out.attempt = g.attempt;
  out.batch = g.batch;
  const auto* b = log_.batch(g.batch);
  if (b == nullptr) return out;
  out.known = true;
  out.sequence = b->sequence;
  out.slot = b->slot;
  out.granted_at = b->at;
  out.free_at = b->free_at;
  out.rows = b->rows;
  out.requests = b->requests;
  out.alone = b->alone;
  out.exec_at = b->exec_at;
  out.start_by = b->start_by;
  out.planned_end = b->end;
  out.end = to_string(b->how);
  if (b->how == decision_log::batch_status::refused) out.why = to_string(b->why);
  out.started_at = b->started_at;
  out.finished_at = b->finished_at;
  return out;
}

request_story model_queue::explain(request_id id) const {
  request_story s;
  s.decision_log = log_.capacity();
  s.id = id;
  s.model = options_.model;
  s.model_name = options_.name;
  s.batching = options_.batching;
  s.shedding = options_.shedding;
  s.alpha = policy_->latency().alpha;
  s.beta = policy_->latency().beta;
  s.response = options_.parameters.response;
  s.arbiter = options_.arbiter;

  std::optional<decision_log::known_request> what;
  const auto handle = id == request_id{} ? std::nullopt : requests_.find(id);
  if (handle) {
    for (const auto& g : log_.grants_of(*handle, requests_.all_of(*handle).taken_at))
      s.batches.push_back(describe_batch(g));
    // Of one that came to an end otherwise (its gateway's, another scheduler's) nothing is known here.
    if (requests_.holds(*handle) || !s.batches.empty()) what = known(*handle);
  }
  s.state = s.batches.empty()                   ? ""
            : s.batches.back().end == "done"    ? "finished"
            : s.batches.back().end == "running" ? "running"
                                                : "lost";
  // Candidates of later moments were about others.
  auto until = never;
  uint64_t last_candidate = ~uint64_t{0};
  if (!s.batches.empty() && s.batches.back().known) {
    until = s.batches.back().granted_at + duration{1};
    last_candidate = s.batches.back().sequence;
  }
  if (handle && requests_.holds(*handle)) {
    if (running_requests()[*handle]) {
      s.state = "running";
    } else {
      s.state = "waiting";
      until = never;
      last_candidate = ~uint64_t{0};
    }
  }
  if (const auto d = log_.drop_of(id)) {
    what = d->what;
    s.state = "dropped";
    const auto& g = d->grounds;
    s.drops.push_back(
        {d->at, std::string(to_string(d->reason)), std::string(to_string(g.rule)), g.rows, g.start, g.end});
    until = d->at;
    last_candidate = ~uint64_t{0};
  }
  if (!what) return s;
  s.known = true;
  s.rows = what->rows;
  s.arrival = what->arrival;
  s.deadline = what->deadline;
  s.taken_at = what->taken_at;
  s.rows_ahead = what->rows_ahead;
  for (const auto& o : log_.offers(s.taken_at, until))
    if (o.sequence <= last_candidate)
      s.candidates.push_back({o.at, o.sequence, o.window.rows, o.window.exec_at, o.window.latest});
  s.candidates_forgotten = log_.offers_since() > s.taken_at;
  if (s.candidates.size() > longest_list) {
    s.candidates.erase(s.candidates.begin(), s.candidates.end() - longest_list);
    s.candidates_forgotten = true;
  }
  return s;
}

}  // namespace troupe
