#include "policies/batching/poison_retry_queue.hpp"

#include <utility>

namespace troupe {

void poison_retry_queue::add(const retry& r, const latency_model& latency) {
  const auto earlier = [&](const retry& a, const retry& b) {
    return std::pair(a.latest_start(latency), a.id) < std::pair(b.latest_start(latency), b.id);
  };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), r, earlier), r);
}

poison_retry_queue::retry poison_retry_queue::take_front() {
  const auto first = waiting_.front();
  waiting_.erase(waiting_.begin());
  return first;
}

std::optional<uint32_t> poison_retry_queue::take_late(time_point now, const latency_model& latency) {
  if (waiting_.empty() || waiting_.front().latest_start(latency) >= now) return {};
  return take_front().handle;
}

void poison_retry_queue::clear() {
  waiting_.clear();
  offered_ = false;
}

std::optional<uint32_t> poison_retry_queue::offer(time_point now) {
  if (waiting_.empty() != offered_ || now < offer_at_) return {};
  offered_ = !waiting_.empty();
  return offered_ ? waiting_.front().rows : 0;
}

bool poison_retry_queue::withdraw() { return std::exchange(offered_, false); }

time_point poison_retry_queue::wake_at(const latency_model& latency) const {
  if (waiting_.empty()) return never;
  const auto late = waiting_.front().latest_start(latency) + duration{1};
  return offered_ ? late : std::min(late, offer_at_);
}

}  // namespace troupe
