// Queue of requests by deadline.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "policies/batching/batching.hpp"

namespace troupe {

/// Requests in (deadline, id) order with running sums of their rows, in a ring. An insertion in deadline
/// order costs O(1), one between k earlier and m later requests O(min(k, m) + log n). Memory is allocated
/// only when the queue exceeds its largest size so far.
class deadline_queue {
 public:
  static constexpr size_t npos = ~size_t{0};

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  /// Position 0 is the earliest deadline.
  const queued_request& operator[](size_t i) const { return at(i).request; }

  uint32_t rows() const { return rows_before(size_); }
  /// Sum over the first `count` requests.
  uint32_t rows_before(size_t count) const {
    return static_cast<uint32_t>((count == size_ ? rows_ever_ : at(count).rows_before) - rows_gone_);
  }
  /// Largest number of requests from the front with at most `rows` rows in total.
  size_t count_within(uint32_t rows) const;

  /// Returns the position of the new request.
  size_t insert(const queued_request& t);
  /// Moves the requests for which `leaves` holds to `out`, in one pass. Returns the former position of the
  /// first of them, `npos` if there was none.
  size_t erase_if(const std::function<bool(const queued_request&)>& leaves, std::vector<queued_request>& out);
  void pop_front(size_t count);

 private:
  struct entry {
    queued_request request;
    uint64_t rows_before;  ///< running sum before this request
  };

  const entry& at(size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  entry& at(size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  size_t position_of(const queued_request& t) const;
  void grow();

  std::vector<entry> ring_;  // its size is zero or a power of two
  size_t head_ = 0;          // modulo 2⁶⁴
  size_t size_ = 0;
  uint64_t rows_gone_ = 0;  // running sum before the front
  uint64_t rows_ever_ = 0;  // running sum at the back
};

}  // namespace troupe
