#include <fmt/format.h>

#include "config/sections.hpp"

namespace troupe {

limit_spec read_limits(section& root) {
  auto& s = root.table_or_empty("limits");
  constexpr int64_t mb = 1 << 20;
  constexpr double hour_ms = 3.6e6;
  limit_spec l;
  l.queue_rows = static_cast<uint32_t>(s.integer("queue_rows", 1, 1 << 24, 8192));
  l.requests_in_flight = static_cast<uint32_t>(s.integer("requests_in_flight", 1, 1 << 24, 65536));
  l.pool_bytes = static_cast<uint64_t>(s.integer("pool_mb", 1, 1 << 20, 256) * mb);
  l.body_bytes = static_cast<uint64_t>(s.integer("body_mb", 1, 4096, 64) * mb);
  l.request_timeout = s.milliseconds("request_timeout_ms", 1, hour_ms, 1000);
  l.heartbeat = s.milliseconds("heartbeat_ms", 1, 60'000, 100);
  l.node_timeout = s.milliseconds("node_timeout_ms", 2, hour_ms, 3000);
  l.drain_timeout = s.milliseconds("drain_timeout_ms", 0, hour_ms, 10'000);
  l.http_threads = static_cast<uint32_t>(s.integer("http_threads", 1, 256, 1));
  l.scheduler_threads = static_cast<uint32_t>(s.integer("scheduler_threads", 1, 256, 1));

  if (l.node_timeout < 2 * l.heartbeat) {
    s.refuse(
        "node_timeout_ms",
        fmt::format("{} is less than two heartbeats of {} ms: one late heartbeat would be a death; give at "
                    "least {}",
                    to_ms(l.node_timeout), to_ms(l.heartbeat), to_ms(2 * l.heartbeat)));
  }
  if (l.body_bytes > l.pool_bytes) {
    s.refuse(
        "body_mb",
        fmt::format("a body of {} MB does not fit into the pool; give at most pool_mb = {} or a larger pool",
                    l.body_bytes / mb, l.pool_bytes / mb));
  }
  return l;
}

}  // namespace troupe
