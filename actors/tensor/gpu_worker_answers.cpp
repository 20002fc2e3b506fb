// What a worker says of its batches, to gateways, queues and the arbiter, and the outputs that it offers.
#include <algorithm>
#include <utility>

#include "actors/tensor/gpu_worker.hpp"

namespace troupe {

/// Its queue has its requests run again, or says that they are too late: no gateway hears of it from here.
void gpu_worker::was_preempted(const job& j, const batch_outcome& outcome) {
  const auto& o = j.order;
  ++refusals_[static_cast<size_t>(refusal::preempted)];
  in_vain_ += outcome.finished_at - outcome.started_at;
  if (traced_) [[unlikely]] {
    uint32_t rows = 0;
    for (size_t i = 0; i < j.parts.size(); ++i)
      if (j.parts[i].error == failure::none) rows += o.requests[i].rows;
    trace(o, rows, refusal::preempted,
          {o.exec_at, o.ordered_at, j.received_at, j.inputs_at, outcome.started_at, outcome.finished_at});
  }
  release_outputs(j);
  send_batch_done(
      o, {o.batch, o.model, o.slot, refusal::preempted, 0, outcome.started_at, outcome.finished_at, {}});
}

void gpu_worker::answer(job& j, const batch_outcome& outcome) {
  batch_done done{j.order.batch,
                  j.order.model,
                  j.order.slot,
                  refusal::none,
                  0,
                  outcome.started_at,
                  outcome.finished_at,
                  {}};
  std::vector<std::string_view> details(outcome.errors.empty() ? 0 : j.parts.size());
  for (size_t i = 0, ran = 0; i < j.parts.size(); ++i) {
    auto& p = j.parts[i];
    const auto& r = j.order.requests[i];
    if (p.error == failure::none && !outcome.errors.empty()) {
      details[i] = outcome.errors[ran++];
      if (!details[i].empty()) p.error = failure::device_error;
    }
    if (p.error == failure::none) done.rows += r.rows;
    if (p.error == failure::stale_memory) done.stale.push_back(r.id);
  }
  struct reply {
    address gateway;
    bool is_up;
    completion says;
  };
  std::vector<reply> replies;
  const batch_times times{j.order.exec_at, j.order.ordered_at, j.received_at,
                          j.inputs_at,     outcome.started_at, outcome.finished_at};
  for (size_t i = 0; i < j.parts.size(); ++i) {
    auto& p = j.parts[i];
    const auto& r = j.order.requests[i];
    auto it =
        std::find_if(replies.begin(), replies.end(), [&](const auto& a) { return a.gateway == r.gateway; });
    if (it == replies.end()) {
      it = replies.insert(it, {r.gateway, is_up(r.gateway), {j.order.batch, done.rows, {}, times}});
      it->says.results.reserve(j.parts.size());
    }
    // What is said to a gateway that is not up goes nowhere: nobody would acknowledge the output.
    if (p.error == failure::none && !it->is_up) p.error = failure::worker_lost;
    if (p.output.region && p.error != failure::none) {
      memory_.give_back(std::exchange(p.output.region, {}));
    } else if (p.output.region) {
      offered_.add(p.output.region.generation, {p.output.region, r.gateway.node, r.gateway.incarnation});
    }
    it->says.results.push_back({r.id, r.attempt, p.error, p.output.region, {}});
    if (!details.empty()) it->says.results.back().detail = details[i];
  }
  rows_ += done.rows;
  if (traced_) [[unlikely]]
    trace(j.order, done.rows, refusal::none, times);
  for (auto& r : replies) send(r.gateway, std::move(r.says));
  send_batch_done(j.order, done);
}

void gpu_worker::refuse(const batch_order& o, refusal why, time_point now) {
  ++refusals_[static_cast<size_t>(why)];
  if (traced_) [[unlikely]]
    trace(o, 0, why, {o.exec_at, o.ordered_at, now, never, never, now});
  send_batch_done(o, {o.batch, o.model, o.slot, why, 0, now, now, {}});
}

void gpu_worker::send_batch_done(const batch_order& o, const batch_done& d) {
  send(o.queue, d);
  send({o.queue.node, o.queue.incarnation, role::rank_arbiter, options_.domain}, d);
}

void gpu_worker::release_outputs(const job& j) {
  for (const auto& p : j.parts)
    if (p.output.region) memory_.give_back(p.output.region);
}

void gpu_worker::on_release(const address& gateway, const release& r) {
  for (const auto& region : r.regions) {
    memory_.give_back(region);
    const auto* mine = offered_.find(region.generation);
    if (mine != nullptr && mine->region == region && mine->gateway == gateway.node &&
        mine->incarnation == gateway.incarnation)
      offered_.erase(region.generation);
  }
}

}  // namespace troupe
