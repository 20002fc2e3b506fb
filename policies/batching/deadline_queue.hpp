// Queued requests, earliest deadline first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "policies/batching/batching.hpp"

namespace troupe {

/// Tickets in (deadline, id) order with running sums of their rows, in a ring. An arrival in deadline order
/// costs O(1), one between k earlier and m later ones O(min(k, m) + log n); nothing is allocated unless the
/// queue grows beyond its largest size so far.
class deadline_queue {
 public:
  static constexpr size_t npos = ~size_t{0};

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  /// Position 0 is the earliest deadline.
  const queued_request& operator[](size_t i) const { return at(i).request; }

  uint32_t rows() const { return rows_before(size_); }
  /// Of the first `count` requests together.
  uint32_t rows_before(size_t count) const {
    return static_cast<uint32_t>((count == size_ ? rows_ever_ : at(count).rows_before) - rows_gone_);
  }
  /// How many requests from the front have at most `rows` rows together.
  size_t count_within(uint32_t rows) const;

  /// Returns the position that it got.
  size_t insert(const queued_request& t);
  /// Moves out those for which `leaves` says so, in one pass over all. Returns the first position that one of
  /// them had, `npos` if there was none.
  size_t erase_if(const std::function<bool(const queued_request&)>& leaves, std::vector<queued_request>& out);
  void pop_front(size_t count);

 private:
  struct entry {
    queued_request request;
    uint64_t rows_before;  ///< of all that ever stood before it
  };

  const entry& at(size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  entry& at(size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  size_t position_of(const queued_request& t) const;
  void grow();

  std::vector<entry> ring_;  // its size is a power of two, or none
  size_t head_ = 0;          // modulo 2⁶⁴
  size_t size_ = 0;
  uint64_t rows_gone_ = 0;  // before the front
  uint64_t rows_ever_ = 0;  // behind the back
};

}  // namespace troupe
