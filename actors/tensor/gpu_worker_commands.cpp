// What a worker can be asked from outside (messages/commands/commands.hpp).
#include <algorithm>

#include "actors/tensor/gpu_worker.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

command_reply gpu_worker::on_command(const command& c, time_point now) {
  return run_command(gpu_worker_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(now); },
                         [&](const list_batches& l) { return list(l, now); },
                         [&](const start_trace& s) {
                           traced_.emplace(std::min<uint32_t>(s.capacity, largest_trace));
                           return acknowledged{};
                         },
                         [&](const take_trace& t) {
                           if (!traced_) throw command_refused("nothing is recorded; send start_trace first");
                           traced_batches out;
                           out.lost = traced_->take_lost();
                           out.batches = traced_->take(std::min(t.limit, longest_list));
                           out.more = traced_->size() > 0;
                           return out;
                         },
                         [&](const stop_trace&) {
                           traced_.reset();
                           return acknowledged{};
                         },
                     });
}

std::string_view gpu_worker::state() const {
  return running_ ? "running" : !jobs_.empty() ? "waiting" : models_.empty() ? "loading" : "idle";
}

worker_state gpu_worker::describe(time_point now) const {
  worker_state s;
  s.slot = options_.slot;
  s.state = state();
  for (uint32_t i = 0; i < models_.size(); ++i)
    if (models_[i]) s.models.push_back({model_id{i}, models_[i]->input, models_[i]->output});
  for (const auto& j : jobs_) {
    held_batch b;
    b.batch = j.order.batch;
    b.model = j.order.model;
    b.requests = static_cast<uint32_t>(j.parts.size());
    b.inputs_missing = static_cast<uint32_t>(j.missing);
    b.running = running_ && &j == &jobs_.front();
    b.starts_in = j.order.exec_at - now;
    s.batches.push_back(b);
  }
  s.batches_run = batches_;
  s.rows_run = rows_;
  s.busy = busy_;
  s.outputs_offered = offered_.size();
  return s;
}

void gpu_worker::remember(const job& j, const batch_outcome& outcome) {
  uint32_t rows = 0;
  for (size_t i = 0; i < j.parts.size(); ++i)
    if (j.parts[i].error == failure::none) rows += j.order.requests[i].rows;
  remembered_.push_back({++last_number_, j.order.model, static_cast<uint32_t>(j.parts.size()), rows,
                         outcome.started_at, outcome.finished_at, outcome.stopped});
  if (remembered_.size() > max_remembered) remembered_.pop_front();
}

past_batches gpu_worker::list(const list_batches& asked, time_point now) const {
  const auto later =
      std::ranges::upper_bound(remembered_, asked.after, {}, &memory_of_batch::number) - remembered_.begin();
  const auto wanted = std::min<size_t>(asked.limit, remembered_.size() - static_cast<size_t>(later));
  past_batches out;
  for (size_t i = remembered_.size() - wanted; i < remembered_.size(); ++i) {
    const auto& b = remembered_[i];
    out.batches.push_back({b.number, b.model, b.requests, b.rows, now - b.finished_at,
                           b.finished_at - b.started_at, b.stopped});
  }
  return out;
}

void gpu_worker::trace(const batch_order& o, uint32_t rows, refusal refused, const batch_times& times) {
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

}  // namespace troupe
