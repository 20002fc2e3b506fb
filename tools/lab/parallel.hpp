// Independent jobs on all cores.
#pragma once
#include <cstdint>
#include <functional>

namespace troupe::lab {

/// As many as the machine has cores for this process, at least 1.
uint32_t available_cores();

/// Calls `job(i)` for every i below `count`, in this order but up to `threads` at a time, and returns when
/// all have ended. What a job throws is thrown again, the first of them; jobs that have not begun are then
/// left out.
void for_each_parallel(size_t count, uint32_t threads, const std::function<void(size_t)>& job);

}  // namespace troupe::lab
