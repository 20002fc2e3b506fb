#include "policies/common/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe {
namespace {

constexpr uint32_t fine_bits = 6;  // 64 buckets a power of two
constexpr uint32_t top_bits = 41;  // 2^41 ns = 37 min
constexpr uint64_t fine = uint64_t{1} << fine_bits;
constexpr uint64_t largest = (uint64_t{1} << top_bits) - 1;

/// Values below 64 have a bucket each; above, the leading seven bits choose it.
size_t bucket_of(uint64_t ns) {
  ns = std::min(ns, largest);
  if (ns < fine) return ns;
  const auto shift = static_cast<uint32_t>(std::bit_width(ns)) - fine_bits - 1;
  return shift * fine + (ns >> shift);
}

/// The middle of a bucket.
uint64_t value_of(size_t bucket) {
  if (bucket < 2 * fine) return bucket;
  const uint64_t shift = bucket / fine - 1;
  return ((fine + bucket % fine) << shift) + (uint64_t{1} << shift) / 2;
}

constexpr size_t bucket_count = (top_bits - fine_bits + 1) * fine;

}  // namespace

latency_histogram::latency_histogram() : buckets_(bucket_count) {}

void latency_histogram::add(duration d) {
  d = std::max(d, duration{});
  ++buckets_[bucket_of(static_cast<uint64_t>(d.count()))];
  ++count_;
  sum_ += d.count();
  min_ = std::min(min_, d);
  max_ = std::max(max_, d);
}

void latency_histogram::merge(const latency_histogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

std::vector<std::pair<duration, uint64_t>> latency_histogram::counts() const {
  std::vector<std::pair<duration, uint64_t>> out;
  for (size_t i = 0; i < buckets_.size(); ++i)
    if (buckets_[i] > 0) out.emplace_back(duration{static_cast<int64_t>(value_of(i))}, buckets_[i]);
  return out;
}

duration latency_histogram::quantile(double q) const {
  if (count_ == 0) return {};
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  if (rank == count_) return max_;
  uint64_t seen = 0;
  size_t bucket = 0;
  while ((seen += buckets_[bucket]) < rank) ++bucket;
  return std::clamp(duration{static_cast<int64_t>(value_of(bucket))}, min_, max_);
}

}  // namespace troupe
