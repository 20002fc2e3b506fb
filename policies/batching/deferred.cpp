#include "policies/batching/deferred.hpp"

#include <algorithm>

#include "policies/common/time_math.hpp"

namespace troupe {

time_point deferred::exec_at(const gathered& batch) const {
  const auto& p = parameters();
  if (batch.rows >= rows_worth_waiting_for()) return batch.earliest;
  const uint64_t larger = uint64_t{batch.rows} + batch.next_rows;
  if (larger > p.max_rows) return batch.earliest;
  const auto ahead = p.margin + p.latency(static_cast<uint32_t>(larger)) + search_time(batch.rows);
  const auto frontrun = saturating_subtract(batch.finish_by, ahead);
  return std::max(batch.earliest, std::min(frontrun, arrivals_over()));
}

}  // namespace troupe
