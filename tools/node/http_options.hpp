// What the cluster file says of a gateway's HTTP server, and the file descriptors that it takes.
#pragma once
#include "messages/cluster/cluster.hpp"
#include "transport/http/server.hpp"

namespace troupe {

/// The options of the server of node `me`. Raises this process's limit of open files to what the system
/// allows; if that is too low for limits.http_connections, takes fewer and logs how to get more.
http_server_options http_options(const node_spec& me, const limit_spec& limits);

}  // namespace troupe
