// How much memory the request bodies of a server may take while they are read, all together.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace troupe {

/// Shared out by a dynamic threshold (Choudhury and Hahne, 1998, for the buffers of switches): a body may
/// grow as long as it leaves at least as much as it has. So n greedy ones stop at a share of 1/(n+1) each,
/// and there is always room left for a small one. Thread-safe; with several threads the total may pass the
/// budget by what they ask for at the same instant.
class body_budget {
 public:
  explicit body_budget(uint64_t bytes) : bytes_(bytes) {}
  uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }

 private:
  friend class body_share;
  const uint64_t bytes_;
  std::atomic<uint64_t> in_use_{0};
};

/// What one body has of the budget; given back in the end.
class body_share {
 public:
  explicit body_share(body_budget& of) : of_(&of) {}
  body_share(body_share&& other) noexcept : of_(other.of_), bytes_(std::exchange(other.bytes_, 0)) {}
  body_share& operator=(body_share&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~body_share() { of_->in_use_.fetch_sub(bytes_, std::memory_order_relaxed); }

  uint64_t bytes() const { return bytes_; }
  /// Whether it could ever grow so large: it can if nobody else has any.
  bool fits_alone(uint64_t bytes) const { return bytes <= of_->bytes_ / 2; }

  /// Makes it `bytes` in all, which is more than before. False, and nothing changes, if there is no room for
  /// that.
  bool grow(uint64_t bytes) {
    const auto others = of_->in_use() - bytes_;
    if (others > of_->bytes_ || bytes > (of_->bytes_ - others) / 2) return false;
    of_->in_use_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
    bytes_ = bytes;
    return true;
  }
  /// The same without a bound, but only while nobody else has any of the budget: what is larger than a share
  /// goes alone.
  bool grow_alone(uint64_t bytes) {
    if (of_->in_use() != bytes_) return false;
    of_->in_use_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
    bytes_ = bytes;
    return true;
  }

 private:
  body_budget* of_;
  uint64_t bytes_ = 0;
};

}  // namespace troupe
