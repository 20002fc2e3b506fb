#include "policies/batching/deadline_queue.hpp"

#include <algorithm>
#include <cassert>

namespace troupe {
namespace {
bool before(const queued_request& a, const queued_request& b) {
  return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
}
}  // namespace

size_t deadline_queue::count_within(uint32_t rows) const {
  // Most requests have one row, the minimum: then this first guess is the result.
  size_t high = std::min<size_t>(size_, rows);
  if (rows_before(high) <= rows) return high;
  size_t low = 0;  // the first `low` requests fit, the first `high` do not
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (rows_before(middle) <= rows ? low : high) = middle;
  }
  return low;
}

size_t deadline_queue::position_of(const queued_request& t) const {
  if (size_ == 0 || !before(t, at(size_ - 1).request)) return size_;  // most arrive in order
  size_t low = 0, high = size_ - 1;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (before(t, at(middle).request))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

size_t deadline_queue::insert(const queued_request& t) {
  assert(t.rows > 0);
  if (size_ == ring_.size()) grow();
  const size_t i = position_of(t);
  ++size_;
  if (i < size_ / 2) {
    // Fewer entries are before it: these move forward, and the running sums start lower (modulo 2⁶⁴).
    --head_;
    rows_gone_ -= t.rows;
    for (size_t k = 0; k < i; ++k) at(k) = {at(k + 1).request, at(k + 1).rows_before - t.rows};
    at(i) = {t, at(i + 1).rows_before - t.rows};
    return i;
  }
  const uint64_t rows_before = i + 1 == size_ ? rows_ever_ : at(i).rows_before;
  rows_ever_ += t.rows;
  for (size_t k = size_ - 1; k > i; --k) at(k) = {at(k - 1).request, at(k - 1).rows_before + t.rows};
  at(i) = {t, rows_before};
  return i;
}

size_t deadline_queue::erase_if(const std::function<bool(const queued_request&)>& leaves,
                                std::vector<queued_request>& out) {
  size_t first = npos, kept = 0;
  uint64_t rows = 0;  // of the erased requests
  for (size_t i = 0; i < size_; ++i) {
    const auto [request, rows_before] = at(i);
    if (leaves(request)) {
      first = std::min(first, i);
      rows += request.rows;
      out.push_back(request);
    } else {
      at(kept++) = {request, rows_before - rows};
    }
  }
  rows_ever_ -= rows;
  size_ = kept;
  return first;
}

void deadline_queue::pop_front(size_t count) {
  assert(count <= size_);
  rows_gone_ += rows_before(count);
  head_ += count;
  size_ -= count;
}

void deadline_queue::grow() {
  std::vector<entry> larger(std::max<size_t>(64, 2 * ring_.size()));
  for (size_t i = 0; i < size_; ++i) larger[i] = at(i);
  ring_ = std::move(larger);
  head_ = 0;
}

}  // namespace troupe
