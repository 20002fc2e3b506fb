#include "policies/batching/deadline_batching.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/common/time_math.hpp"

namespace troupe {
namespace {

/// The largest number of rows up to `bound` with slope · rows + fixed ≤ budget.
uint32_t rows_within(duration budget, duration slope, duration fixed, uint32_t bound) {
  if (slope * bound + fixed <= budget) return bound;
  if (slope <= duration{} || fixed > budget) return 0;
  return static_cast<uint32_t>((budget - fixed) / slope);
}

}  // namespace

void deadline_batching::add(const queued_request& t, time_point now) {
  if (t.rows == 0 || t.rows > parameters_.max_rows) {
    dropped_.push_back({t, drop_reason::late});
    return;
  }
  arrivals_.count(now, t.rows);
  look_at_rate(t, now);
  if (queue_.insert(t) < window_requests_) close_window();
}

void deadline_batching::set_target(time_point now) {
  auto p = parameters_;
  if (rule_ == shedding::staggered)
    p.slots = std::numeric_limits<uint32_t>::max();  // as many as the rate needs
  const auto rate = arrivals_.rate(now);
  target_ = staggered_target(p, rate);
  usual_gap_ = rate.value_or(0) > 0 ? from_ms(std::min(1e3 / *rate, 1e6)) : duration::max();
  if (target_.need > 0 && rule_ == shedding::window)
    worth_waiting_for_ = rows_that_keep_up(parameters_.latency, target_, 1 / tolerance(1));
  target_until_ = arrivals_.valid_until();
}

/// Called for arrivals only, so that an additional update has no effect.
void deadline_batching::look_at_rate(const queued_request& t, time_point now) {
  constexpr int64_t gaps = 6;
  if (rule_ == shedding::timeout) return;
  if (now >= target_until_) set_target(now);
  if (rule_ != shedding::window) return;
  // Senders batch their requests: a short gap does not end a burst.
  arrivals_over_ = now + parameters_.margin + parameters_.latency(t.rows) / 2;
  if (usual_gap_ != duration::max())
    arrivals_over_ = std::max(arrivals_over_, now + gaps * t.rows * usual_gap_);
}

void deadline_batching::remove_if(const std::function<bool(const queued_request&)>& leaves,
                                  std::vector<queued_request>& out) {
  if (queue_.erase_if(leaves, out) < window_requests_) close_window();
}

void deadline_batching::update(time_point now, time_point slot_free_at) {
  const auto network = parameters_.network.control;
  const batch_start o{now, slot_free_at,
                      slot_free_at == long_ago ? std::max(lead() - network, duration{}) : duration{}};
  shed_infeasible_heads(o);
  gather(o);
}

void deadline_batching::take_batch(std::vector<queued_request>& out) {
  for (size_t i = 0; i < window_requests_; ++i) out.push_back(queue_[i]);
  queue_.pop_front(window_requests_);
  close_window();
}

void deadline_batching::take_dropped(std::vector<dropped_queued_request>& out) {
  out.insert(out.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

void deadline_batching::set_latency(const latency_model& latency) {
  parameters_.latency = latency;
  target_until_ = long_ago;
}

void deadline_batching::set_slots(uint32_t slots) {
  parameters_.slots = slots;
  target_until_ = long_ago;
}

duration deadline_batching::search_time(uint32_t rows) const {
  constexpr double gaps = 6;
  if (rule_ != shedding::window || target_.need <= 0) return {};
  const double slots = std::max(1u, parameters_.slots);
  const double used_by_others = std::clamp(load_ - target_.need / slots, 0.0, 1.0);
  return from_ms(gaps * used_by_others * to_ms(parameters_.latency(rows)) / slots);
}

time_point deadline_batching::earliest_start(uint32_t rows, const batch_start& o) const {
  return std::max(o.now + o.ahead + parameters_.network(rows), o.slot_free_at);
}

bool deadline_batching::meets(const queued_request& t, uint32_t batch_rows, const batch_start& o) const {
  return earliest_start(batch_rows, o) + parameters_.latency(batch_rows) + parameters_.response <= t.deadline;
}

uint32_t deadline_batching::protected_rows(time_point now) {
  if (rule_ == shedding::timeout) return 1;
  if (target_until_ == long_ago) set_target(now);
  return static_cast<uint32_t>(std::lround(rows_to_protect()));
}

/// Rows of the longest run of requests at the end of the queue that can be one batch. A run that begins later
/// is smaller and has a later deadline, so a binary search finds it.
uint32_t deadline_batching::rows_that_run_together(const batch_start& o) const {
  size_t low = 0, high = queue_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t rows = queue_.rows() - queue_.rows_before(middle);
    if (meets(queue_[middle], rows, o))
      high = middle;
    else
      low = middle + 1;
  }
  return queue_.rows() - queue_.rows_before(low);
}

void deadline_batching::shed_infeasible_heads(const batch_start& o) {
  if (queue_.empty()) return;  // the rate meter starts at the first arrival
  uint32_t protect = protected_rows(o.now);
  const auto in_time = [&](const queued_request& head) {
    return meets(head, std::max(protect, head.rows), o);
  };
  if (in_time(queue_[0])) return;
  if (protect > 1) protect = std::min(protect, rows_that_run_together(o));

  size_t shed = 0;
  for (; shed < queue_.size() && !in_time(queue_[shed]); ++shed) {
    const queued_request& head = queue_[shed];
    const bool late = !meets(head, head.rows, o);
    const uint32_t rows = late ? head.rows : std::max(protect, head.rows);
    const auto start = earliest_start(rows, o);
    dropped_.push_back({head, late ? drop_reason::late : drop_reason::shed, rows, start,
                        start + parameters_.latency(rows) + parameters_.response});
  }
  queue_.pop_front(shed);
}

uint32_t deadline_batching::largest_batch(time_point finish_by, const batch_start& o) const {
  const auto& [alpha, beta] = parameters_.latency;
  const auto& [control, data] = parameters_.network;
  const uint32_t bound = std::min(parameters_.max_rows, queue_.rows());
  const uint32_t sent_now =
      rows_within(saturating_difference(finish_by, o.now + o.ahead), alpha + data, beta + control, bound);
  return rows_within(saturating_difference(finish_by, o.slot_free_at), alpha, beta, sent_now);
}

void deadline_batching::gather(const batch_start& o) {
  close_window();
  if (queue_.empty()) return;
  gathered batch{};
  batch.finish_by = saturating_subtract(queue_[0].deadline, parameters_.response);
  const uint32_t fits = largest_batch(batch.finish_by, o);
  // A request that is larger than the policy's batches runs in a batch of its own.
  const auto most = parameters_.alone ? queue_[0].rows : std::max(batch_of(fits), queue_[0].rows);
  const size_t count = queue_.count_within(std::min(fits, most));
  if (count == 0) return;
  batch.rows = queue_.rows_before(count);
  batch.next_rows = count < queue_.size() ? queue_[count].rows : 1;
  batch.earliest = earliest_start(batch.rows, {o.now, o.slot_free_at, {}});

  window_requests_ = count;
  window_.rows = batch.rows;
  window_.exec_at = parameters_.alone ? batch.earliest : exec_at(batch);
  window_.latest = saturating_subtract(batch.finish_by, parameters_.latency(batch.rows));
  // The earliest time at which the batch, if it is sent then, is late.
  wake_at_ = saturating_subtract(window_.latest, o.ahead + parameters_.network(batch.rows) - duration{1});
}

void deadline_batching::close_window() {
  window_ = {};
  window_requests_ = 0;
  wake_at_ = never;
}

}  // namespace troupe
