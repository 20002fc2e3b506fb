// Decides about each frame that arrives from one node: what is delivered is, for every connection, a prefix
// of what was sent, and nothing of a life that is known to be gone. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "messages/ids.hpp"

namespace troupe::ucx {

class inbox {
 public:
  enum class verdict {
    deliver,
    discard,  ///< of a life or a connection that is over, or a repetition
    gap,      ///< frames before it are missing: the connection is broken
  };

  /// `number` counts the frames of a stream modulo 2^32. Frames of a closed life are counted, too: its next
  /// connection may begin before it is opened again.
  verdict judge(incarnation life, uint32_t stream, uint32_t number) {
    if (std::tie(life, stream) < std::tie(life_, stream_)) return verdict::discard;
    if (std::tie(life, stream) > std::tie(life_, stream_)) {
      life_ = life;
      stream_ = stream;
      next_ = 0;
    }
    const bool open = accepts(life);
    const auto ahead = static_cast<int32_t>(number - next_);
    if (ahead < 0) return verdict::discard;
    if (ahead > 0 && open) return verdict::gap;
    next_ = number + 1;
    return open ? verdict::deliver : verdict::discard;
  }

  /// Whether a message without a number of `life` is welcome.
  bool accepts(incarnation life) const { return life > closed_; }

  /// From now on nothing of `life` or of an earlier one is delivered.
  void close(incarnation life) { closed_ = std::max(closed_, life); }

  /// Delivers `life` and later ones. If it had been closed, it goes on after the frames that were discarded.
  void open(incarnation life) { closed_ = life.value == 0 ? life : incarnation{life.value - 1}; }

 private:
  incarnation closed_;  ///< this life and those before it are over
  incarnation life_;    ///< whose frames arrive at the moment, on `stream_`
  uint32_t stream_ = 0;
  uint32_t next_ = 0;  ///< number that comes next
};

}  // namespace troupe::ucx
