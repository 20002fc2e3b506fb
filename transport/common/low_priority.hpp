// Priority of threads whose work may wait for everyone else's.
#pragma once
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe {

/// Lowers the priority of the calling thread, and of the threads that it creates: a thread of usual priority
/// that wakes up runs at once, and gets nine tenths of a core that both want. SCHED_IDLE would leave such a
/// thread without any time on a busy machine.
inline void lower_priority() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);  // on Linux: of this thread
}

}  // namespace troupe
