#include "actors/tensor/worker_statistics.hpp"

#include <string>
#include <utility>

#include "actors/tensor/batch_answers.hpp"

namespace troupe {

void worker_statistics::on_refused(const batch_order& o, refusal why, time_point now) {
  ++refusals_[static_cast<size_t>(why)];
  if (traced_) [[unlikely]]
    trace(o, 0, why, {o.exec_at, o.ordered_at, now, never, never, now});
}

void worker_statistics::on_ended(const batch_outcome& outcome, bool preempted) {
  busy_ += outcome.finished_at - outcome.started_at;
  if (!preempted) ++batches_;
}

void worker_statistics::on_preempted(const ordered_batch& b, const batch_outcome& outcome) {
  ++refusals_[static_cast<size_t>(refusal::preempted)];
  preempted_time_ += outcome.finished_at - outcome.started_at;
  if (traced_) [[unlikely]]
    trace(b.order, b.rows(), refusal::preempted, times_of(b, outcome));
}

void worker_statistics::on_answered(const ordered_batch& b, uint32_t rows, const batch_outcome& outcome) {
  rows_ += rows;
  if (traced_) [[unlikely]]
    trace(b.order, rows, refusal::none, times_of(b, outcome));
}

void worker_statistics::trace(const batch_order& o, uint32_t rows, refusal refused,
                              const batch_times& times) {
  batch_trace t;
  t.batch = o.batch;
  t.model = o.model;
  t.slot = o.slot;
  t.rows = rows;
  t.requests = static_cast<uint32_t>(o.requests.size());
  if (refused != refusal::none) t.refused = to_string(refused);
  t.times = times;
  traced_->push(std::move(t));
}

std::optional<traced_batches> worker_statistics::take_trace(size_t limit) {
  if (!traced_) return {};
  traced_batches out;
  out.lost = traced_->take_lost();
  out.batches = traced_->take(limit);
  out.more = traced_->size() > 0;
  return out;
}

void worker_statistics::report(slot_id slot, size_t orders, std::vector<metric>& out) const {
  using enum metric::kind;
  const std::vector<std::pair<std::string, std::string>> labels{{"slot", std::to_string(slot.value)}};
  out.push_back({"troupe_worker_batches_total", labels, static_cast<double>(batches_), counter});
  out.push_back({"troupe_worker_rows_total", labels, static_cast<double>(rows_), counter});
  out.push_back({"troupe_worker_busy_seconds_total", labels, to_seconds(busy_), counter});
  out.push_back({"troupe_worker_preempted_seconds_total", labels, to_seconds(preempted_time_), counter});
  out.push_back({"troupe_worker_orders", labels, static_cast<double>(orders), gauge});
  for (size_t i = 1; i < refusal_count; ++i)
    out.push_back(
        {"troupe_worker_refusals_total",
         {{"slot", std::to_string(slot.value)}, {"reason", std::string(to_string(static_cast<refusal>(i)))}},
         static_cast<double>(refusals_[i]),
         counter});
}

}  // namespace troupe
