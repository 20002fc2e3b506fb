// Memory budget of all request bodies that a server is reading.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace troupe {

/// Shared by a dynamic threshold (Choudhury and Hahne, 1998, for buffers of switches): a body may grow as
/// long as at least as much as it has stays free. So n greedy bodies stop at a share of 1/(n+1) each, and a
/// small one always finds room. Thread-safe; with several threads the total may exceed the budget by
/// simultaneous requests.
class body_budget {
 public:
  explicit body_budget(uint64_t bytes) : bytes_(bytes) {}
  uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }

 private:
  friend class body_share;
  const uint64_t bytes_;
  std::atomic<uint64_t> in_use_{0};
};

/// The share of one body in the budget; released on destruction.
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
  /// Whether it could grow to `bytes` if no other body had a share.
  bool fits_alone(uint64_t bytes) const { return bytes <= of_->bytes_ / 2; }

  /// Grows the share to `bytes` in total. False, without effect, if there is no room.
  bool grow(uint64_t bytes) {
    const auto others = of_->in_use() - bytes_;
    if (others > of_->bytes_ || bytes > (of_->bytes_ - others) / 2) return false;
    of_->in_use_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
    bytes_ = bytes;
    return true;
  }
  /// Grows without bound, but only if no other body has a share: a body larger than a share is read alone.
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
