// The outputs that workers offer a gateway: it pulls them, hands them on, and gives their memory back.
//
// An output is in the gateway's memory from its pull until the answer is written, which takes an HTTP thread
// its time. So there is a bound for all of them together; what is beyond it waits where it is, in the pool of
// its worker, which then refuses batches.
#include <algorithm>
#include <utility>

#include "actors/gateway.hpp"

namespace troupe {

void gateway::on_completion(const address& worker, const completion& c, time_point now) {
  bool counted = c.times.finished_at == never;  // it never ran
  for (const auto& r : c.results) {
    auto* const known = flights_.find(r.id);
    if (known != nullptr && known->output && known->output == r.output) continue;  // said twice
    if (known == nullptr || known->output) {
      ++late_answers_;
      forget_input(r.id);
      give_up_output(worker, r.output);
      continue;
    }
    auto& f = *known;
    give_back(f.asked.input);  // the worker has read it
    f.batch = c.batch;
    f.worker = worker;
    f.times = c.times;
    f.completed_at = now;
    if (!std::exchange(counted, true)) clients_.executed(f.asked.model, c.batch_rows, c.times);
    if (r.error != failure::none) {
      auto failed = flights_.take(r.id);
      decide(failed, {outcome::fate::failed, drop_reason::none, r.error, {}, c.batch_rows, {}, r.detail},
             now);
      continue;
    }
    if (r.output.size > options_.max_output_bytes) {
      auto failed = flights_.take(r.id);
      give_up_output(worker, r.output);
      const auto detail =
          "the outputs take " + std::to_string(r.output.size) +
          " bytes, more than limits.pool_mb = " + std::to_string(options_.max_output_bytes >> 20);
      decide(failed,
             {outcome::fate::failed, drop_reason::none, failure::device_error, {}, c.batch_rows, {}, detail},
             now);
      continue;
    }
    if (r.output.size == 0) {
      auto whole = flights_.take(r.id);
      give_up_output(worker, r.output);
      settle(whole, {outcome::fate::finished, drop_reason::none, failure::none, {}, c.batch_rows, {}}, now);
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
    pulled_bytes_ -= late->second.pulled.size();
    abandon_output(late->second);
    late_pulls_.erase(late);
    return;
  }
  const auto* known = flights_.find(id);
  if (known == nullptr || known->pulled.empty()) return;
  auto f = flights_.take(id);
  pulled_bytes_ -= f.pulled.size();
  const auto payload = p.status == pull_status::ok ? memory_.verify(f.output, f.pulled) : std::nullopt;
  give_up_output(f.worker, f.output);
  if (payload) {
    settle(f, {outcome::fate::finished, drop_reason::none, failure::none, *payload, f.batch_rows, {}}, now);
  } else {
    const auto why = p.status == pull_status::lost ? failure::worker_lost : failure::stale_memory;
    decide(f, {outcome::fate::failed, drop_reason::none, why, {}, f.batch_rows, {}}, now);
  }
}

/// As long as there is room for more; a lone one is pulled however large it is.
void gateway::pull_outputs(time_point now) {
  for (; !outputs_to_pull_.empty(); outputs_to_pull_.pop_front()) {
    auto* const f = flights_.find(outputs_to_pull_.front());
    if (f == nullptr || !f->output || !f->pulled.empty()) continue;  // it has its fate
    const auto held = pulled_bytes_ + clients_.unwritten_bytes();
    if (held > 0 && held + f->output.size > options_.max_pulled_bytes) break;
    f->pulled = memory_.pull_buffer(f->output);
    pulled_bytes_ += f->pulled.size();
    memory_.pull(f->output, f->pulled, self_, f->asked.id.value);
  }
  constexpr duration soon = 1ms;  // nobody tells when an answer is written
  look_for_room_at_ = outputs_to_pull_.empty() ? never : now + soon;
}

/// Of a request that has its fate, once nobody pulls it.
void gateway::abandon_output(flight& f) {
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
