// Sums of the time in a decoder's kernels.
#pragma once
#include <cstdint>
#include <type_traits>

#include "messages/common/time.hpp"

namespace troupe::llm {

/// Time in kernels of each kind. The rest of a call's time is host work.
struct kernel_times {
  duration projections{}, adapters{}, attention{}, others{};
  uint32_t launches = 0;  ///< of kernels, each timed by two readings of the clock
  duration sum() const { return projections + adapters + attention + others; }
};

/// Runs kernels, and adds their time to a sum, if there is one.
struct kernel_timer {
  const clock* time = nullptr;
  kernel_times* times = nullptr;  ///< null as `time` is

  template <class Work>
  void timed(duration kernel_times::*kind, Work work) const {
    if (time == nullptr) return work();
    const auto start = time->now();
    work();
    times->*kind += time->now() - start;
    ++times->launches;
  }
  template <class Args>
  void launch(duration kernel_times::*kind, void (*kernel)(const Args&),
              const std::type_identity_t<Args>& args) const {
    timed(kind, [&] { kernel(args); });
  }
};

}  // namespace troupe::llm
