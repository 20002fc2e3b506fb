// Priority of threads whose work may wait for everyone else's.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

/// Whether `lower_priority` was called on this thread.
inline thread_local bool has_low_priority = false;

/// Makes the calling thread, and those that it creates, ten steps nicer: on a core that both want, other
/// threads of its control group come first and get nine tenths. Not SCHED_IDLE: on a busy core such a thread
/// gets 3 thousandths, also where it holds a lock that others wait for, of this program or of the kernel's
/// memory management; and without CAP_SYS_NICE it cannot leave that class.
void lower_priority();

/// CPU time of all threads of this process that called it, ended ones included, but not of those that they
/// created.
duration low_priority_cpu_time();

}  // namespace troupe
