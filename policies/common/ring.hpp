// Ring buffer of the newest entries, to be taken in order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

/// Keeps the newest `capacity` entries (at least 1) and counts overwritten ones as lost. Allocates once.
template <class T>
class ring {
 public:
  explicit ring(size_t capacity) : entries_(capacity < 1 ? 1 : capacity) {}

  void push(T entry) {
    entries_[(first_ + size_) % entries_.size()] = std::move(entry);
    if (size_ < entries_.size()) {
      ++size_;
    } else {
      first_ = (first_ + 1) % entries_.size();
      ++lost_;
    }
  }

  /// Moves out the oldest entries, `limit` at most.
  std::vector<T> take(size_t limit) {
    std::vector<T> out;
    for (; size_ > 0 && out.size() < limit; --size_) {
      out.push_back(std::move(entries_[first_]));
      first_ = (first_ + 1) % entries_.size();
    }
    return out;
  }
  /// Entries overwritten since the last call.
  uint64_t take_lost() { return std::exchange(lost_, 0); }

  size_t size() const { return size_; }

 private:
  std::vector<T> entries_;
  size_t first_ = 0, size_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace troupe
