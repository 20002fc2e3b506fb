#include <fmt/format.h>

#include <algorithm>

#include "config/sections.hpp"

namespace troupe {

limit_spec read_limits(section& root) {
  auto& s = root.table_or_empty("limits");
  constexpr int64_t mb = 1 << 20;
  constexpr double hour_ms = 3.6e6;
  limit_spec l;
  l.models = static_cast<uint32_t>(s.integer("models", 1, 65536, 1024));
  l.queue_rows = static_cast<uint32_t>(s.integer("queue_rows", 1, 1 << 24, 8192));
  l.requests_in_flight = static_cast<uint32_t>(s.integer("requests_in_flight", 1, 1 << 24, 65536));
  l.pool_bytes = static_cast<uint64_t>(s.integer("pool_mb", 1, 1 << 20, 256) * mb);
  l.body_bytes = static_cast<uint64_t>(s.integer("body_mb", 1, 4096, 64) * mb);
  const auto two_bodies = static_cast<int64_t>(2 * l.body_bytes / mb);
  const auto default_bodies = std::max<int64_t>(256, 2 * two_bodies);  // two, compressed and inflated
  l.bodies_bytes = static_cast<uint64_t>(s.integer("http_bodies_mb", 1, 1 << 20, default_bodies) * mb);
  l.header_bytes = static_cast<uint32_t>(s.integer("http_header_kb", 1, 1024, 32) << 10);
  l.http_connections = static_cast<uint32_t>(s.integer("http_connections", 1, 1 << 20, 16384));
  l.http_idle_timeout = s.milliseconds("http_idle_timeout_ms", 1, hour_ms, 75'000);
  l.http_header_timeout = s.milliseconds("http_header_timeout_ms", 1, hour_ms, 10'000);
  l.http_body_timeout = s.milliseconds("http_body_timeout_ms", 1, hour_ms, 60'000);
  l.request_timeout = s.milliseconds("request_timeout_ms", 1, hour_ms, 1000);
  l.node_timeout = s.milliseconds("node_timeout_ms", 2, hour_ms, 3000);
  l.heartbeat = s.milliseconds("heartbeat_ms", 1, 60'000, std::clamp(to_ms(l.node_timeout) / 12, 1.0, 250.0));
  l.takeover = s.milliseconds("takeover_ms", 1, hour_ms, std::min(300.0, to_ms(l.node_timeout)));
  l.drain_timeout = s.milliseconds("drain_timeout_ms", 0, hour_ms, 10'000);
  l.http_threads = static_cast<uint32_t>(s.integer("http_threads", 1, 256, 1));
  l.tokenizer_threads = static_cast<uint32_t>(s.integer("tokenizer_threads", 1, 256, 2));
  l.scheduler_threads = static_cast<uint32_t>(s.integer("scheduler_threads", 1, 256, 1));

  if (l.node_timeout < 2 * l.heartbeat) {
    s.refuse("node_timeout_ms",
             fmt::format("{} is less than two heartbeats of {} ms, so one late heartbeat would mark a node "
                         "as failed; give at least {}",
                         to_ms(l.node_timeout), to_ms(l.heartbeat), to_ms(2 * l.heartbeat)));
  }
  if (l.takeover > l.node_timeout) {
    s.refuse(
        "takeover_ms",
        fmt::format("{} is more than node_timeout_ms = {}, after which a standby takes over anyway; give "
                    "at most that",
                    to_ms(l.takeover), to_ms(l.node_timeout)));
  }
  if (l.body_bytes > l.pool_bytes) {
    s.refuse(
        "body_mb",
        fmt::format("a body of {} MiB does not fit into the pool; give at most pool_mb = {} or a larger pool",
                    l.body_bytes / mb, l.pool_bytes / mb));
  }
  if (l.bodies_bytes < 2 * l.body_bytes) {
    s.refuse("http_bodies_mb",
             fmt::format(
                 "a body of {} MiB would be more than half of it and could not be read; give at least {} or "
                 "a smaller body_mb",
                 l.body_bytes / mb, two_bodies));
  }
  return l;
}

}  // namespace troupe
