// Bound on a gateway's pulls: decides which of the offered outputs are pulled now.
//
// An output takes memory of the gateway from its pull until its answer is written. The window bounds these
// bytes. An output beyond the bound waits in the pool of its worker, which then refuses batches.
//
// The share of one worker follows the dynamic threshold scheme of shared-memory switches (Choudhury and
// Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998): a worker may hold as
// many bytes as it leaves free to others. So neither large outputs nor a stalled worker keep the rest out.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// An output that waits for its pull.
struct offered_output {
  node_id worker;      ///< the node that offers it
  uint64_t bytes = 0;  ///< of the output
};

class pull_window {
 public:
  /// `max_bytes`: of all outputs between their pull and the end of writing their answers.
  explicit pull_window(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void add(request_id id) { waiting_.push_back(id); }

  /// Begins the pulls that have room, the oldest first; outputs without room do not block later ones.
  /// `unwritten`: bytes of answers that are not written yet. `offer(id)` returns the offered_output, or
  /// nothing if the request no longer waits. `begin(id)` begins the pull and returns the bytes of its buffer,
  /// which `end` must give back.
  template <class Offer, class Begin>
  void pull(time_point now, uint64_t unwritten, Offer&& offer, Begin&& begin) {
    const auto scanned =
        waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), max_scanned));
    bool oldest = true;
    const auto stay = std::remove_if(waiting_.begin(), scanned, [&](request_id id) {
      const std::optional<offered_output> o = offer(id);
      if (!o) return true;
      if (!has_room(*o, unwritten, std::exchange(oldest, false))) return false;
      const uint64_t buffer = begin(id);
      pulled_bytes_ += buffer;
      pulled_from_[o->worker] += buffer;
      return true;
    });
    waiting_.erase(stay, scanned);
    next_look_ = waiting_.empty() ? never : now + between_looks;
  }
  /// A pull has ended; `buffer`: the bytes that `begin` returned.
  void end(node_id worker, uint64_t buffer) {
    pulled_bytes_ -= buffer;
    pulled_from_[worker] -= buffer;
  }

  /// When to call `pull` next: nothing announces that an answer is written.
  time_point next_look() const { return next_look_; }
  size_t waiting() const { return waiting_.size(); }
  uint64_t pulled_bytes() const { return pulled_bytes_; }

 private:
  static constexpr size_t max_scanned = 256;
  static constexpr duration between_looks = 1ms;

  /// The oldest output is pulled regardless of its size when at most an eighth of the window is in use.
  bool has_room(const offered_output& o, uint64_t unwritten, bool oldest) const {
    const auto held = pulled_bytes_ + unwritten;
    if (oldest && held <= max_bytes_ / 8) return true;
    const auto from = pulled_from_.find(o.worker);
    const auto of_worker = o.bytes + (from == pulled_from_.end() ? 0 : from->second);
    return held + o.bytes <= max_bytes_ && of_worker <= max_bytes_ - held - o.bytes;
  }

  const uint64_t max_bytes_;
  std::vector<request_id> waiting_;  // in the order of their offers, some of them settled since
  uint64_t pulled_bytes_ = 0;        // of pulls under way
  std::unordered_map<node_id, uint64_t> pulled_from_;  // of these, by worker node
  time_point next_look_ = never;
};

}  // namespace troupe
