// direct_turns lets a thread run the turns of CAF hosts that sleep: waking a host's thread takes longer than
// a short turn.
#pragma once
#include <utility>

namespace troupe {

/// While one exists, a threaded CAF host that sleeps takes its turn for a `delivery` of this thread on this
/// thread, before the send returns. The usual way go messages to hosts that are awake, at their bound on
/// turns or not `direct` (caf_host.hpp), other messages, and messages that are sent within a turn. For
/// threads of the usual priority that may be held up by a turn and hold no lock that a turn takes.
class [[nodiscard]] direct_turns {
 public:
  explicit direct_turns(bool allow = true) : before_(std::exchange(allowed_, allow)) {}
  ~direct_turns() { allowed_ = before_; }
  direct_turns(const direct_turns&) = delete;
  direct_turns& operator=(const direct_turns&) = delete;

  /// Of the calling thread.
  static bool allowed() { return allowed_ && !in_turn_; }

  /// Exists while the calling thread takes a turn.
  class [[nodiscard]] turn {
   public:
    turn() : before_(std::exchange(in_turn_, true)) {}
    ~turn() { in_turn_ = before_; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

   private:
    const bool before_;
  };

 private:
  static inline thread_local bool allowed_ = false, in_turn_ = false;
  const bool before_;
};

}  // namespace troupe
