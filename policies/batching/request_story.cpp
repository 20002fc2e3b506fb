#include "policies/batching/request_story.hpp"

#include <optional>
#include <string>
#include <string_view>

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

std::string_view to_string(decision_log::batch_status s) {
  switch (s) {
    case decision_log::batch_status::running: return "running";
    case decision_log::batch_status::done: return "done";
    case decision_log::batch_status::refused: return "refused";
    case decision_log::batch_status::preempted: return "preempted";
    case decision_log::batch_status::worker_lost: return "worker_lost";
    case decision_log::batch_status::worker_crashed: return "worker_crashed";
  }
  return {};
}

batch_decision describe_batch(const decision_log& log, const decision_log::granted_request& g) {
  batch_decision out;
  out.attempt = g.attempt;
  out.batch = g.batch;
  const auto* b = log.batch(g.batch);
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

std::string_view state_after(const std::vector<batch_decision>& batches) {
  if (batches.empty()) return "";
  const auto& end = batches.back().end;
  return end == "done" ? "finished" : end == "running" ? "running" : "lost";
}

/// Later candidates did not include the request.
struct candidate_bound {
  time_point until = never;
  uint64_t last_sequence = ~uint64_t{0};
};

void add_candidates(const decision_log& log, const candidate_bound& bound, size_t max_candidates,
                    request_story& s) {
  for (const auto& o : log.offers(s.taken_at, bound.until))
    if (o.sequence <= bound.last_sequence)
      s.candidates.push_back({o.at, o.sequence, o.window.rows, o.window.exec_at, o.window.latest});
  s.candidates_forgotten = log.offers_since() > s.taken_at;
  if (s.candidates.size() <= max_candidates) return;
  s.candidates.erase(s.candidates.begin(), s.candidates.end() - static_cast<std::ptrdiff_t>(max_candidates));
  s.candidates_forgotten = true;
}

}  // namespace

decision_log::known_request known_request(const request_table::entry& e) {
  const auto& r = e.what;
  return {r.id, r.arrival, r.deadline, e.taken_at, r.rows, e.rows_ahead, r.attempt};
}

request_story explain(request_id id, const decision_log& log, const request_table& table,
                      const in_flight_batches& in_flight, size_t max_candidates) {
  request_story s;
  s.decision_log = log.capacity();
  s.id = id;

  std::optional<decision_log::known_request> what;
  const auto handle = id == request_id{} ? std::nullopt : table.find(id);
  if (handle) {
    for (const auto& g : log.grants_of(*handle, table.all_of(*handle).taken_at))
      s.batches.push_back(describe_batch(log, g));
    // The end of a released request without batches was not decided by this queue but by its gateway or a new
    // leader.
    if (table.holds(*handle) || !s.batches.empty()) what = known_request(table.all_of(*handle));
  }
  s.state = state_after(s.batches);
  candidate_bound bound;
  if (!s.batches.empty() && s.batches.back().known)
    bound = {s.batches.back().granted_at + duration{1}, s.batches.back().sequence};
  if (handle && table.holds(*handle)) {
    const bool runs = in_flight.runs(*handle);
    s.state = runs ? "running" : "waiting";
    if (!runs) bound = {};
  }
  if (const auto d = log.drop_of(id)) {
    what = d->what;
    s.state = "dropped";
    const auto& g = d->grounds;
    s.drops.push_back(
        {d->at, std::string(to_string(d->reason)), std::string(to_string(g.rule)), g.rows, g.start, g.end});
    bound = {d->at};
  }
  if (!what) return s;
  s.known = true;
  s.rows = what->rows;
  s.arrival = what->arrival;
  s.deadline = what->deadline;
  s.taken_at = what->taken_at;
  s.rows_ahead = what->rows_ahead;
  add_candidates(log, bound, max_candidates, s);
  return s;
}

}  // namespace troupe
