// Priority of threads whose work may wait for everyone else's.
#pragma once
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe {

/// Whether `lower_priority` was called on this thread.
inline thread_local bool has_low_priority = false;

/// Makes the calling thread, and those that it creates, ten steps nicer: on a core that both want, other
/// threads of its control group come first and get nine tenths. SCHED_IDLE would leave such a thread without
/// any time on a busy machine.
inline void lower_priority() {
  const auto self = static_cast<id_t>(::gettid());  // on Linux these are the priorities of threads
  ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + 10);
  has_low_priority = true;
}

}  // namespace troupe
