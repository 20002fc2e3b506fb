// The outputs that workers offer a gateway: it pulls them, hands them on, and gives their memory back.
//
// An output is in the gateway's memory from its pull until the answer is written, which takes an HTTP thread
// its time. So there is a bound for all of them together; what is beyond it waits where it is, in the pool of
// its worker, which then refuses batches. Until it is pulled the request can be run again: should the worker
// die, it is.
#include <algorithm>
#include <utility>

#include "actors/tensor/gateway.hpp"

namespace troupe {

void gateway::on_completion(const address& worker, const completion& c, time_point now) {
  bool counted = c.times.finished_at == never;  // it never ran
  for (const auto& r : c.results) {
    auto* const known = in_flight_.find(r.id);
    if (known != nullptr && known->output && known->output == r.output) continue;  // said twice
    if (known == nullptr || known->output) {
      ++late_answers_;
      forget_input(r.id);
      give_up_output(worker, r.output);
      continue;
    }
    auto& f = *known;
    f.batch = c.batch;
    f.worker = worker;
    f.times = c.times;
    f.completed_at = now;
    if (!std::exchange(counted, true)) clients_.executed(f.asked.model, c.batch_rows, c.times);
    if (r.error != failure::none || r.output.size == 0 || r.output.size > options_.max_output_bytes)
      give_back(f.asked.input);  // else once its output is being pulled
    if (r.error != failure::none) {
      auto failed = in_flight_.take(r.id);
      decide(failed, {outcome_kind::failed, drop_reason::none, r.error, {}, c.batch_rows, {}, r.detail}, now);
      continue;
    }
    if (r.output.size > options_.max_output_bytes) {
      auto failed = in_flight_.take(r.id);
      give_up_output(worker, r.output);
      const auto detail =
          "the outputs take " + std::to_string(r.output.size) +
          " bytes, more than limits.pool_mb = " + std::to_string(options_.max_output_bytes >> 20);
      decide(failed,
             {outcome_kind::failed, drop_reason::none, failure::device_error, {}, c.batch_rows, {}, detail},
             now);
      continue;
    }
    if (r.output.size == 0) {
      auto whole = in_flight_.take(r.id);
      give_up_output(worker, r.output);
      settle(whole, {outcome_kind::finished, drop_reason::none, failure::none, {}, c.batch_rows, {}}, now);
      continue;
    }
    f.output = r.output;
    f.batch_rows = c.batch_rows;
    outputs_to_pull_.push_back(r.id);
  }
}

void gateway::on_pulled(const pulled& p, time_point now) {
  const request_id id{p.token};
  if (const auto late = late_pulls_.find(p.token); late != late_pulls_.end()) {
    end_pull(late->second);
    give_up_output(late->second.worker, late->second.output);
    leave(late->second);
    late_pulls_.erase(late);
    return;
  }
  const auto* known = in_flight_.find(id);
  if (known == nullptr || known->pulled.empty()) return;
  auto f = in_flight_.take(id);
  end_pull(f);
  const auto payload = p.status == pull_status::ok ? memory_.verify(f.output, f.pulled) : std::nullopt;
  give_up_output(f.worker, f.output);
  if (payload) {
    settle(f, {outcome_kind::finished, drop_reason::none, failure::none, *payload, f.batch_rows, {}}, now);
  } else {
    const auto why = p.status == pull_status::lost ? failure::worker_lost : failure::stale_memory;
    decide(f, {outcome_kind::failed, drop_reason::none, why, {}, f.batch_rows, {}}, now);
  }
}

/// The oldest first; what there is no room for lets others go before it.
void gateway::pull_outputs(time_point now) {
  constexpr size_t max_scanned = 256;
  auto& waiting = outputs_to_pull_;
  const auto end = waiting.begin() + static_cast<ptrdiff_t>(std::min(waiting.size(), max_scanned));
  bool oldest = true;
  const auto stay = std::remove_if(waiting.begin(), end, [&](request_id id) {
    auto* const f = in_flight_.find(id);
    if (f == nullptr || !f->output || !f->pulled.empty()) return true;  // it has its outcome, or runs again
    if (!has_room(*f, std::exchange(oldest, false))) return false;
    begin_pull(*f);
    return true;
  });
  waiting.erase(stay, end);
  constexpr duration soon = 1ms;  // nobody tells when an answer is written
  look_for_room_at_ = waiting.empty() ? never : now + soon;
}

/// Outputs of one worker may take as much as they leave to others: so neither large ones nor a worker that
/// stands still keep the rest out. What needs more than that is pulled when it is its turn and there is
/// little else.
bool gateway::has_room(const in_flight_request& f, bool oldest) const {
  const auto max_bytes = options_.max_pulled_bytes, size = f.output.size;
  const auto held = pulled_bytes_ + clients_.unwritten_bytes();
  if (oldest && held <= max_bytes / 8) return true;
  const auto from = pulled_from_.find(f.worker.node);
  const auto its = size + (from == pulled_from_.end() ? 0 : from->second);
  return held + size <= max_bytes && its <= max_bytes - held - size;
}

void gateway::begin_pull(in_flight_request& f) {
  give_back(f.asked.input);  // the worker has read it
  f.pulled = memory_.pull_buffer(f.output);
  pulled_bytes_ += f.pulled.size();
  pulled_from_[f.worker.node] += f.pulled.size();
  memory_.pull(f.output, f.pulled, self_, f.asked.id.value);
}

void gateway::end_pull(const in_flight_request& f) {
  pulled_bytes_ -= f.pulled.size();
  pulled_from_[f.worker.node] -= f.pulled.size();
}

/// Those that wait to be pulled from a worker that is gone.
void gateway::run_again(node_id node, incarnation_id incarnation) {
  std::vector<request_id> lost;
  for (const auto& [id, f] : in_flight_.entries())
    if (f.output && f.pulled.empty() && f.worker.node == node && f.worker.incarnation == incarnation)
      lost.push_back(id);
  std::sort(lost.begin(), lost.end());
  for (const auto id : lost) {
    auto& f = *in_flight_.find(id);
    f.output = {};
    ++f.asked.attempt;
    if (scheduler_up_) models_[f.asked.model.value].next.requests.push_back(f.asked);
  }
}

/// Of a request that has its outcome, and whose output nobody pulls.
void gateway::abandon_output(in_flight_request& f) {
  give_back(f.asked.input);
  give_up_output(f.worker, f.output);
  leave(f);
}

void gateway::give_up_output(const address& worker, const region_ref& region) {
  if (!region) return;
  auto it =
      std::find_if(releases_.begin(), releases_.end(), [&](const auto& r) { return r.first == worker; });
  if (it == releases_.end()) it = releases_.insert(it, {worker, {}});
  it->second.regions.push_back(region);
}

}  // namespace troupe
