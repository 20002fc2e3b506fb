// Alarm clock of a thread that sleeps in the kernel: other threads ring it, and set when it rings by itself.
#pragma once
#include "messages/common/time.hpp"
#include "transport/common/doorbell.hpp"

namespace troupe {

class alarm_clock {
 public:
  /// Throws std::system_error if the process has no descriptors left.
  alarm_clock();
  ~alarm_clock();
  alarm_clock(const alarm_clock&) = delete;
  alarm_clock& operator=(const alarm_clock&) = delete;

  /// From any thread.
  void ring() { bell_.ring(); }
  /// From any thread: it rings `after` that time, at once if that is not positive; `duration::max()`: not by
  /// itself. Replaces an earlier setting; takes about a microsecond and wakes nobody.
  void set(duration after);
  /// Returns once it has rung since the last call. For one thread at a time.
  void wait();

 private:
  doorbell bell_;
  const int timer_;
};

}  // namespace troupe
