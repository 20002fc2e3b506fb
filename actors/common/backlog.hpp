// What waits for somebody who may be slow: bounded, in bytes or in heads.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

namespace troupe {

class backlog {
 public:
  explicit backlog(size_t max) : max_(max) {}

  /// False, and nothing counts as waiting, if it would be too much. From any thread.
  bool add(size_t amount) {
    if (waiting_.fetch_add(amount, std::memory_order_relaxed) + amount <= max_) return true;
    remove(amount);
    return false;
  }
  void remove(size_t amount) { waiting_.fetch_sub(amount, std::memory_order_relaxed); }

 private:
  const size_t max_;
  std::atomic<size_t> waiting_{0};
};

/// `amount` of `from`, which was added, waits until the last copy of this is gone.
inline std::shared_ptr<const void> hold(std::shared_ptr<backlog> from, size_t amount) {
  const auto* nothing = from.get();
  return {static_cast<const void*>(nothing),
          [from = std::move(from), amount](const void*) { from->remove(amount); }};
}

}  // namespace troupe
