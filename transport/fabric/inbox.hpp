// Filter of the frames from one node. Delivered frames are, for every connection, a prefix of those sent, and
// none is of an incarnation that is known to have ended. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "messages/common/ids.hpp"

namespace troupe {

class inbox {
 public:
  enum class verdict {
    deliver,
    discard,  ///< of an ended incarnation or connection, or a repetition
    gap,      ///< earlier frames are missing: the connection is broken
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

  /// Whether unnumbered messages of `incarnation` are accepted.
  bool accepts(incarnation_id incarnation) const { return incarnation > closed_; }

  /// From now on nothing of `incarnation` or earlier ones is delivered.
  void close(incarnation_id incarnation) { closed_ = std::max(closed_, incarnation); }

  /// Delivers `incarnation` and later ones. If it had been closed, delivery continues after the discarded
  /// frames.
  void open(incarnation_id incarnation) {
    closed_ = incarnation.value == 0 ? incarnation : incarnation_id{incarnation.value - 1};
  }

 private:
  incarnation_id closed_;       ///< this incarnation and those before it have ended
  incarnation_id incarnation_;  ///< incarnation of the current frames, on `stream_`
  uint32_t stream_ = 0;
  uint32_t next_ = 0;  ///< next expected number
};

}  // namespace troupe
