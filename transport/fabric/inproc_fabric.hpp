// The fabric for several nodes in one process, each with a thread of its own: what tests of the things above
// a fabric run on when they want real threads without UCX.
#pragma once
#include <memory>

#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Where the fabrics of one process find each other. Outlived by none of them (they share it).
class inproc_network;
std::shared_ptr<inproc_network> make_inproc_network();

/// A frame is handed over by moving it, a pull is a memcpy by the reader. Peers of a fabric that stops are
/// told that it is lost; its pool can still be pulled from by those that were connected to it.
std::unique_ptr<fabric> make_inproc_fabric(std::shared_ptr<inproc_network> network, node_id self,
                                           incarnation_id incarnation, const clock& clock);

}  // namespace troupe
