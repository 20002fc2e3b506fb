#include "policies/batching/batch_returns.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

bool gateway_is_gone(const request& r) { return r.id == request_id{}; }

}  // namespace

void finish_batch(request_queue& queue, const in_flight_batch& batch, const batch_done& d, time_point now) {
  auto& load = queue.ends().load;
  if (d.refused == refusal::none && d.rows > 0) queue.learn(batch, d.finished_at - d.started_at);
  if (d.refused == refusal::none && d.finished_at <= batch.first_deadline) {
    load.count_good(batch.handles.size());
    return release_batch(queue, batch);
  }
  for (const auto handle : batch.handles) {
    const auto& r = queue.table()[handle];
    if (d.refused == refusal::late && !gateway_is_gone(r)) {
      queue.count_lost(r.rows, now);
      queue.give_up(handle, drop_reason::late, {drop_rule::not_started}, now);
      continue;
    }
    if (d.finished_at <= r.deadline)
      load.count_good();
    else
      load.count_bad();
    queue.table().release(handle);
  }
}

uint64_t resubmit_batch(request_queue& queue, const in_flight_batch& batch, uint32_t max_attempts,
                        time_point now) {
  uint64_t attempts = 0;
  for (const auto handle : batch.handles) {
    auto& e = queue.table().all_of(handle);
    if (gateway_is_gone(e.what)) {
      queue.table().release(handle);
      continue;
    }
    ++attempts;
    ++e.what.attempt;
    if (++e.returned >= max_attempts)
      queue.give_up(handle, drop_reason::no_capacity, {drop_rule::attempts}, now);
    else if (e.what.last_loss != worker_loss::none)
      queue.queue_alone(handle, now);
    else
      queue.queue_up(handle, now);
  }
  return attempts;
}

uint64_t run_batch_again(request_queue& queue, const in_flight_batch& batch, time_point now) {
  uint64_t attempts = 0;
  const auto& times = queue.times();
  for (const auto handle : batch.handles) {
    auto& e = queue.table().all_of(handle);
    auto& r = e.what;
    if (gateway_is_gone(r)) {
      queue.table().release(handle);
      continue;
    }
    ++attempts;
    ++r.attempt;
    const auto end = now + times.alone(r, queue.policy().latency_of(r.shape_class));
    if (queue.slots() == 0) {
      queue.give_up(handle, drop_reason::no_capacity, {drop_rule::no_worker}, now);
    } else if (r.last_loss != worker_loss::none) {
      queue.queue_alone(handle, now);
    } else if (end > times.planned_deadline(r)) {
      queue.count_lost(r.rows, now);
      const auto start = now + times.network(r.rows);
      queue.give_up(handle, drop_reason::late, {drop_rule::preempted, r.rows, start, end}, now);
    } else {
      queue.queue_again(handle, now);
    }
  }
  return attempts;
}

void release_batch(request_queue& queue, const in_flight_batch& batch) {
  for (const auto handle : batch.handles) queue.table().release(handle);
}

uint64_t forget_gateway(request_queue& queue, node_id node, incarnation_id incarnation) {
  const auto lost = [&](const request& r) {
    return r.gateway.node == node && r.gateway.incarnation == incarnation;
  };
  uint64_t forgotten = queue.release_if(lost);
  queue.table().for_each([&](uint32_t handle, request& r) {
    if (!lost(r)) return;
    ++forgotten;
    queue.table().all_of(handle).was = std::exchange(r.id, {});
  });
  return forgotten;
}

std::vector<std::pair<address, suspects>> note_loss(request_queue& queue, const in_flight_batch& batch,
                                                    worker_loss loss, time_point now) {
  std::vector<std::pair<address, suspects>> out;
  const auto add = [&](const address& gateway, request_id id) {
    auto of = std::find_if(out.begin(), out.end(), [&](const auto& o) { return o.first == gateway; });
    if (of == out.end()) of = out.insert(of, {gateway, {loss, {}}});
    of->second.requests.push_back(id);
  };
  for (const auto handle : batch.handles) {
    auto& e = queue.table().all_of(handle);
    e.what.last_loss = loss;
    if (!gateway_is_gone(e.what))
      add(e.what.gateway, e.what.id);
    else if (const auto id = e.was; const auto again = queue.suspect(id, loss, now))
      add(*again, id);
  }
  return out;
}

std::optional<failed_request> judge_poison_retry(request_queue& queue, const in_flight_batch& batch,
                                                 worker_loss loss) {
  const auto handle = batch.handles.front();
  const auto& e = queue.table().all_of(handle);
  std::optional<failed_request> out;
  if (!gateway_is_gone(e.what)) out = failed_request{e.what, poison_verdict(e.what.last_loss, loss)};
  queue.table().release(handle);
  return out;
}

}  // namespace troupe
