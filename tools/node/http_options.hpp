// Options of a gateway's HTTP server, from the cluster file and the limit of open files.
#pragma once
#include "messages/cluster/cluster.hpp"
#include "transport/http/handler_pool.hpp"
#include "transport/http/server.hpp"

namespace troupe {

/// The server options of node `me`. Raises the process's limit of open files to the hard limit. If that is
/// too low for limits.http_connections, reduces max_connections and logs a warning with the fix.
http_server_options http_options(const node_spec& me, const limit_spec& limits);

/// Of the requests that a gateway tokenizes.
handler_pool::options handler_pool_options(const limit_spec& limits);

}  // namespace troupe
