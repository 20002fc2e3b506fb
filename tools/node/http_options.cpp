#include "tools/node/http_options.hpp"

#include <spdlog/spdlog.h>

#include "tools/node/file_limit.hpp"

namespace troupe {
namespace {

constexpr uint64_t other_files = 256;  // for lanes, logs and libraries

}  // namespace

http_server_options http_options(const node_spec& me, const limit_spec& limits) {
  http_server_options o;
  o.host = me.http_listen;
  o.port = me.http_port;
  o.port_setting = "http_port of node '" + me.name + "'";
  o.threads = limits.http_threads;
  o.max_connections = limits.http_connections;
  o.max_header_bytes = limits.header_bytes;
  o.max_body_bytes = limits.body_bytes;
  o.max_bodies_bytes = limits.bodies_bytes;
  o.idle_timeout = limits.http_idle_timeout;
  o.header_timeout = limits.http_header_timeout;
  o.body_timeout = limits.http_body_timeout;
  const auto files = raise_file_limit();
  if (files < o.max_connections + other_files) {
    o.max_connections = static_cast<uint32_t>(files > 2 * other_files ? files - other_files : files / 2);
    spdlog::warn(
        "node '{}' may open {} files and takes {} connections instead of limits.http_connections = {}; raise "
        "the "
        "limit (ulimit -Hn, LimitNOFILE) to {} or lower http_connections",
        me.name, files, o.max_connections, limits.http_connections, limits.http_connections + other_files);
  }
  return o;
}

handler_pool::options handler_pool_options(const limit_spec& limits) {
  handler_pool::options o;
  o.threads = limits.tokenizer_threads;
  o.max_bytes = limits.bodies_bytes;
  return o;
}

}  // namespace troupe
