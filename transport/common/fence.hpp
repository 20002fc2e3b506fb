// Fences for memory that several processes read and write. ThreadSanitizer does not model fences, and gcc
// warns that it does not; it watches one process only, for which these change nothing.
#pragma once
#include <atomic>

namespace troupe {

#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
/// No later write becomes visible before an earlier one.
inline void write_fence() { std::atomic_thread_fence(std::memory_order_release); }
/// No later read happens before an earlier one.
inline void read_fence() { std::atomic_thread_fence(std::memory_order_acquire); }
#pragma GCC diagnostic pop

}  // namespace troupe
