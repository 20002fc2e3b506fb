#include "policies/common/rate_meter.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

rate_meter::rate_meter(duration bucket, uint32_t buckets) : bucket_(bucket), complete_(buckets) {}

void rate_meter::count(time_point now, uint32_t n) {
  advance(now);
  current_ += n;
}

std::optional<double> rate_meter::rate(time_point now) {
  advance(now);
  if (buckets_ended_ == 0) return {};
  const auto seen = std::min<uint64_t>(buckets_ended_, complete_.size());
  return static_cast<double>(sum_) / (static_cast<double>(seen) * to_seconds(bucket_));
}

void rate_meter::advance(time_point now) {
  if (bucket_ends_ == long_ago) bucket_ends_ = now + bucket_;
  if (now < bucket_ends_) return;
  const auto ended = static_cast<uint64_t>((now - bucket_ends_) / bucket_) + 1;
  // After a silence longer than the window all its buckets are empty.
  for (uint64_t i = 0; i < std::min<uint64_t>(ended, complete_.size() + 1); ++i) {
    uint64_t& oldest = complete_[(buckets_ended_ + i) % complete_.size()];
    sum_ += current_ - oldest;
    oldest = std::exchange(current_, 0);
  }
  buckets_ended_ += ended;
  bucket_ends_ += bucket_ * static_cast<duration::rep>(ended);
}

}  // namespace troupe
