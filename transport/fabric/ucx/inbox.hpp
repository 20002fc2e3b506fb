// Decides about each frame that arrives from one node: what is delivered is, for every connection, a prefix
// of what was sent, and nothing of an incarnation that is known to be gone. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "messages/common/ids.hpp"

namespace troupe::ucx {

class inbox {
 public:
  enum class verdict {
    deliver,
    discard,  ///< of an incarnation or a connection that is over, or a repetition
    gap,      ///< frames before it are missing: the connection is broken
  };

  /// `number` counts the frames of a stream modulo 2^32. Frames of a closed incarnation are counted, too: its
  /// next connection may begin before it is opened again.
  verdict judge(incarnation_id incarnation, uint32_t stream, uint32_t number) {
    if (std::tie(incarnation, stream) < std::tie(incarnation_, stream_)) return verdict::discard;
    if (std::tie(incarnation, stream) > std::tie(incarnation_, stream_)) {
      incarnation_ = incarnation;
      stream_ = stream;
      next_ = 0;
    }
    const bool open = accepts(incarnation);
    const auto ahead = static_cast<int32_t>(number - next_);
    if (ahead < 0) return verdict::discard;
    if (ahead > 0 && open) return verdict::gap;
    next_ = number + 1;
    return open ? verdict::deliver : verdict::discard;
  }

  /// Whether a message without a number of `incarnation` is welcome.
  bool accepts(incarnation_id incarnation) const { return incarnation > closed_; }

  /// From now on nothing of `incarnation` or of an earlier one is delivered.
  void close(incarnation_id incarnation) { closed_ = std::max(closed_, incarnation); }

  /// Delivers `incarnation` and later ones. If it had been closed, it goes on after the frames that were
  /// discarded.
  void open(incarnation_id incarnation) {
    closed_ = incarnation.value == 0 ? incarnation : incarnation_id{incarnation.value - 1};
  }

 private:
  incarnation_id closed_;       ///< this incarnation and those before it are over
  incarnation_id incarnation_;  ///< whose frames arrive at the moment, on `stream_`
  uint32_t stream_ = 0;
  uint32_t next_ = 0;  ///< number that comes next
};

}  // namespace troupe::ucx
