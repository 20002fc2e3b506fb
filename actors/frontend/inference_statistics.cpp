#include "actors/frontend/inference_statistics.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Zero if one of the times is missing.
duration between(time_point from, time_point to) {
  return from == never || to == never ? duration{0} : to - from;
}

}  // namespace

void timed_count::add(duration d) {
  ++count;
  total += std::max(d, duration{0});
}

model_statistics& inference_statistics::at(model_id model) {
  if (model.value >= models_.size()) models_.resize(model.value + 1);
  return models_[model.value];
}

void inference_statistics::executed(model_id model, uint32_t rows, const batch_times& times) {
  std::lock_guard lock(mutex_);
  auto& m = at(model);
  ++m.executions;
  auto& batch = m.batches[rows];
  batch.compute_input.add(between(times.received_at, times.inputs_at));
  batch.compute_infer.add(between(times.started_at, times.finished_at));
}

void inference_statistics::answered(model_id model, uint32_t rows, const outcome& how) {
  std::lock_guard lock(mutex_);
  auto& m = at(model);
  if (how.kind != outcome_kind::finished) return m.fail.add(how.latency);
  const auto& t = how.times;
  const auto answered_at = how.arrival + how.latency;
  m.last_inference = answered_at;
  m.inferences += rows;
  m.success.add(how.latency);
  m.requests.queue.add(between(how.arrival, t.received_at) + between(t.inputs_at, t.started_at));
  m.requests.compute_input.add(between(t.received_at, t.inputs_at));
  m.requests.compute_infer.add(between(t.started_at, t.finished_at));
  m.requests.compute_output.add(between(t.finished_at, answered_at));
  m.batches[how.batch_rows].compute_output.add(between(t.finished_at, answered_at));
}

model_statistics inference_statistics::of(model_id model) const {
  std::lock_guard lock(mutex_);
  return model.value < models_.size() ? models_[model.value] : model_statistics{};
}

}  // namespace troupe
