#pragma once
#include "messages/cluster/cluster.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// Waits until the node can listen on one of its `data_ports`, and logs that it waits: the ports of a node
/// that was killed stay taken for a minute. Throws std::runtime_error if all of them are still taken after 75
/// s.
void await_data_port(const node_spec& me, const clock& time);

}  // namespace troupe
