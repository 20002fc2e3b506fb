// Independent jobs on all cores.
#pragma once
#include <cstdint>
#include <functional>

namespace troupe::lab {

/// The number of cores available to this process, at least 1.
uint32_t available_cores();

/// Calls `job(i)` for every i below `count`, in ascending order, up to `threads` at a time; returns when all
/// have ended. Rethrows the first exception of a job; jobs that have not begun are then skipped.
void for_each_parallel(size_t count, uint32_t threads, const std::function<void(size_t)>& job);

}  // namespace troupe::lab
