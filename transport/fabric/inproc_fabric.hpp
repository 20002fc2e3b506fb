// Fabric for several nodes in one process, each with a thread of its own. For tests with real threads but
// without UCX.
#pragma once
#include <memory>

#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Registry by which the fabrics of one process find each other. They share ownership of it.
class inproc_network;
std::shared_ptr<inproc_network> make_inproc_network();

/// Frames are moved; a pull is a memcpy by the reader. When a fabric stops, its peers are told that it is
/// lost, but connected ones can still pull from its pool.
std::unique_ptr<fabric> make_inproc_fabric(std::shared_ptr<inproc_network> network, node_id self,
                                           incarnation_id incarnation, const clock& clock);

}  // namespace troupe
