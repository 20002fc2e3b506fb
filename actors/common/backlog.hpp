// backlog counts the work that waits for a slow receiver, in bytes or items, up to a bound. Thread-safe.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

namespace troupe {

class backlog {
 public:
  explicit backlog(size_t max) : max_(max) {}

  /// False, without counting `amount`, if the sum would exceed the bound.
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

/// A token for `amount`, already added to `from`: destruction of its last copy removes the amount.
inline std::shared_ptr<const void> hold(std::shared_ptr<backlog> from, size_t amount) {
  const auto* nothing = from.get();
  return {static_cast<const void*>(nothing),
          [from = std::move(from), amount](const void*) { from->remove(amount); }};
}

}  // namespace troupe
