#include "actors/tensor/order_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {
namespace {

auto owner_of(uint64_t token) {
  return [token](const ordered_batch& b) { return token >= b.token && token < b.token + b.parts.size(); };
}

}  // namespace

bool order_queue::take(batch_order& o, const slot_models::row_bytes& row, const peers_up& up,
                       const address& self, time_point now) {
  ordered_batch b;
  b.token = next_token_;
  b.parts.resize(o.requests.size());
  for (size_t i = 0; i < b.parts.size(); ++i) {
    const auto& r = o.requests[i];
    auto& p = b.parts[i];
    if (row.free) {
      p.shaped_output = std::make_unique<std::vector<std::byte>>();
    } else if (row.output > 0) {
      auto taken = memory_.take(row.output * r.rows);
      if (!taken) {
        release_outputs(b);
        return false;
      }
      p.output = *taken;
    }
    // A pull from a gateway that is not up would wait until it is.
    if ((!row.free && r.input.size != row.input * r.rows) || !up.contains(r.gateway))
      p.error = failure::stale_memory;
    else if (r.input.size > 0)
      p.arrived = false;
    b.missing += !p.arrived;
  }
  b.order = std::move(o);
  b.received_at = now;
  if (b.missing == 0) b.inputs_at = now;
  next_token_ += b.parts.size();
  batches_.push_back(std::move(b));
  auto& queued = batches_.back();
  if (queued.missing == 0) return true;
  for (size_t i = 0; i < queued.parts.size(); ++i) {
    auto& p = queued.parts[i];
    if (p.arrived) continue;
    const auto& input = queued.order.requests[i].input;
    p.pulled = memory_.pull_buffer(input);
    memory_.pull(input, p.pulled, self, queued.token + i);
  }
  return true;
}

void order_queue::on_pulled(const pulled& ended, time_point now) {
  const auto owns = owner_of(ended.token);
  if (const auto dead = std::find_if(abandoned_.begin(), abandoned_.end(), owns); dead != abandoned_.end()) {
    if (--dead->missing == 0) abandoned_.erase(dead);
    return;
  }
  const auto it = std::find_if(batches_.begin(), batches_.end(), owns);
  if (it == batches_.end()) return;
  auto& p = it->parts[ended.token - it->token];
  const auto& source = it->order.requests[ended.token - it->token].input;
  if (p.arrived) return;
  p.arrived = true;
  if (--it->missing == 0) it->inputs_at = now;
  const auto payload = ended.status == pull_status::ok ? memory_.verify(source, p.pulled) : std::nullopt;
  if (!payload)
    p.error = failure::stale_memory;
  else
    p.input = *payload;
}

void order_queue::keep_shaped_outputs(batch_outcome& outcome) {
  size_t ran = 0;
  for (auto& p : front().parts) {
    if (p.error != failure::none) continue;
    const auto part = ran++;
    if (!p.shaped_output || (!outcome.errors.empty() && !outcome.errors[part].empty())) continue;
    const auto& bytes = *p.shaped_output;
    if (const auto taken = memory_.take(bytes.size())) {
      p.output = *taken;
      std::ranges::copy(bytes, p.output.payload.begin());
      continue;
    }
    outcome.errors.resize(std::max(outcome.errors.size(), front().work().parts.size()));
    outcome.errors[part] = "no room for " + std::to_string(bytes.size()) +
                           " bytes of outputs; raise limits.pool_mb of the cluster file";
  }
}

void order_queue::release_outputs(const ordered_batch& b) {
  for (const auto& p : b.parts)
    if (p.output.region) memory_.give_back(p.output.region);
}

/// Removes a batch and gives its outputs back. Requires: it does not run.
void order_queue::give_up(size_t i) {
  const auto b = batches_.begin() + static_cast<std::ptrdiff_t>(i);
  release_outputs(*b);
  if (b->missing > 0) abandoned_.push_back(std::move(*b));
  batches_.erase(b);
}

/// Position of the last waiting order that preempts and could start; `size()`: none.
size_t order_queue::preempting(time_point now) const {
  for (auto i = batches_.size(); i-- > first_waiting();) {
    const auto& b = batches_[i];
    if (b.order.preempts && b.missing == 0 && now <= b.order.start_by && b.has_input()) return i;
  }
  return batches_.size();
}

void order_queue::start_over() {
  run_.start_over();
  while (batches_.size() > first_waiting()) give_up(batches_.size() - 1);
}

}  // namespace troupe
