// Commands and reports of a worker (messages/tensor/commands.hpp).
#include <algorithm>

#include "actors/tensor/gpu_worker.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

command_reply gpu_worker::on_command(const command& c, time_point now) {
  return run_command(gpu_worker_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(now); },
                         [&](const list_batches& l) { return history_.list(l, now); },
                         [&](const start_trace& s) {
                           statistics_.start_trace(std::min<uint32_t>(s.capacity, largest_trace));
                           return acknowledged{};
                         },
                         [&](const take_trace& t) {
                           auto out = statistics_.take_trace(std::min(t.limit, longest_list));
                           if (!out) throw command_refused("nothing is recorded; send start_trace first");
                           return std::move(*out);
                         },
                         [&](const stop_trace&) {
                           statistics_.stop_trace();
                           return acknowledged{};
                         },
                     });
}

std::string_view gpu_worker::state() const {
  return orders_.run().active() ? "running"
         : !orders_.empty()     ? "waiting"
         : models_.empty()      ? "loading"
                                : "idle";
}

worker_state gpu_worker::describe(time_point now) const {
  worker_state s;
  s.slot = options_.slot;
  s.state = state();
  for (const auto& [model, row] : models_.all()) s.models.push_back({model, row.input, row.output});
  for (const auto& b : orders_.batches()) {
    held_batch held;
    held.batch = b.order.batch;
    held.model = b.order.model;
    held.requests = static_cast<uint32_t>(b.parts.size());
    held.inputs_missing = static_cast<uint32_t>(b.missing);
    held.running = orders_.run().active() && &b == &orders_.front();
    held.starts_in = b.order.exec_at - now;
    s.batches.push_back(held);
  }
  s.batches_run = statistics_.batches();
  s.rows_run = statistics_.rows();
  s.busy = statistics_.busy();
  s.outputs_offered = offered_.size();
  return s;
}

void gpu_worker::report(std::vector<metric>& out) const {
  statistics_.report(options_.slot, orders_.size(), out);
}

}  // namespace troupe
