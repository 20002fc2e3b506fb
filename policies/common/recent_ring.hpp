// Ring buffer of the newest entries, with random access.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe {

/// Keeps the newest `capacity` entries; position 0 is the oldest. Memory grows with the entries up to that.
template <class T>
class recent_ring {
 public:
  explicit recent_ring(size_t capacity = 0) : capacity_(capacity) {}

  void push(const T& entry) {
    if (entries_.size() < capacity_) {
      entries_.push_back(entry);
    } else if (capacity_ > 0) {
      entries_[oldest_] = entry;
      if (++oldest_ == capacity_) oldest_ = 0;
      // The next entry to overwrite was last touched a whole round ago: prefetch it.
      __builtin_prefetch(&entries_[std::min(oldest_ + ahead, capacity_ - 1)], 1);
    }
  }

  size_t capacity() const { return capacity_; }
  size_t size() const { return entries_.size(); }
  const T& operator[](size_t i) const { return entries_[place(i)]; }
  T& operator[](size_t i) { return entries_[place(i)]; }

 private:
  static constexpr size_t ahead = 8;  // entries

  size_t place(size_t i) const {
    const auto at = oldest_ + i;
    return at < entries_.size() ? at : at - entries_.size();
  }

  size_t capacity_;
  std::vector<T> entries_;
  size_t oldest_ = 0;
};

}  // namespace troupe
