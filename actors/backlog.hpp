// What waits for a host whose actors may be slow: bounded in bytes.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

namespace troupe {

class backlog {
 public:
  explicit backlog(size_t most) : most_(most) {}

  /// False, and nothing counts as waiting, if it would be too much. From any thread.
  bool add(size_t bytes) {
    if (waiting_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_) return true;
    remove(bytes);
    return false;
  }
  void remove(size_t bytes) { waiting_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const size_t most_;
  std::atomic<size_t> waiting_{0};
};

/// `bytes` of `from` wait until the last copy of this is gone.
inline std::shared_ptr<const void> hold(std::shared_ptr<backlog> from, size_t bytes) {
  const auto* nothing = from.get();
  return {static_cast<const void*>(nothing),
          [from = std::move(from), bytes](const void*) { from->remove(bytes); }};
}

}  // namespace troupe
