#include "actors/tensor/request_recorder.hpp"

#include <algorithm>
#include <utility>

#include "messages/commands/run_command.hpp"
#include "policies/common/random.hpp"

namespace troupe {

void request_recorder::start(const start_trace& s) {
  if (s.sample == 0) throw command_refused("start_trace.sample: must be 1 or more");
  recorded_.emplace(std::min<uint32_t>(s.capacity, largest_trace));
  sample_ = s.sample;
}

traced_requests request_recorder::take(const take_trace& t) {
  if (!recorded_) throw command_refused("nothing is recorded; send start_trace first");
  traced_requests out;
  out.lost = recorded_->take_lost();
  out.requests = recorded_->take(std::min(t.limit, longest_list));
  out.more = recorded_->size() > 0;
  return out;
}

void request_recorder::add(const in_flight_request& f, const outcome& how, time_point now) {
  uint64_t mixed = f.asked.id.value;  // ids are sequential; mixed ones give an unbiased sample
  if (splitmix64(mixed) % sample_ != 0) return;
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
  recorded_->push(std::move(t));
}

}  // namespace troupe
