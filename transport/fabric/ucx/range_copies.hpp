// Copies of large ranges of memory that peers share with this process, in slices: frames arrive and leave in
// between. Used by one thread at a time, the one that drives the fabric.
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/pull_range.hpp"

namespace troupe::ucx {

class range_copies {
 public:
  static constexpr size_t slice = size_t{256} << 10;  ///< bytes

  /// `into` is as large as `from`, at least two `end_bytes`. Both outlive the copy. `owner` names those that
  /// end together.
  void add(const void* owner, std::span<const std::byte> from, std::span<std::byte> into, pull_done done) {
    waiting_.push_back({owner, from, into, 0, std::move(done)});
  }
  bool empty() const { return waiting_.empty(); }

  /// Copies the next slice of the oldest one. The ends of its range are read last.
  void step() {
    auto& c = waiting_.front();
    const size_t bytes = std::min(slice, c.from.size() - c.at);
    streaming_copy(c.from.subspan(c.at, bytes), c.into.subspan(c.at, bytes));
    c.at += bytes;
    if (c.at < c.from.size()) return;
    write_ends(read_ends(c.from), c.into);
    const auto done = std::move(c.done);
    waiting_.pop_front();
    done(pull_status::ok);
  }

  /// Those of an owner end as lost.
  void cancel(const void* owner) {
    if (std::ranges::count(waiting_, owner, &copying::owner) == 0) return;
    std::deque<copying> kept, lost;
    for (auto& c : waiting_) (c.owner == owner ? lost : kept).push_back(std::move(c));
    waiting_ = std::move(kept);
    for (auto& c : lost) c.done(pull_status::lost);
  }

 private:
  struct copying {
    const void* owner;
    std::span<const std::byte> from;
    std::span<std::byte> into;
    size_t at;
    pull_done done;
  };
  std::deque<copying> waiting_;
};

}  // namespace troupe::ucx
