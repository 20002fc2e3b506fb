// Fabric over a carrier that one thread drives. The progress thread runs the calls of other threads in their
// order, lets the carrier make progress, spins briefly and then sleeps in the kernel. While it sleeps,
// another thread's small call steps in and drives the carrier itself, because waking a thread takes longer.
#pragma once
#include <memory>

#include "messages/common/time.hpp"
#include "transport/fabric/carrier.hpp"
#include "transport/fabric/fabric_options.hpp"

namespace troupe {

/// `clock` drives `on_tick` and outlives the fabric.
std::unique_ptr<fabric> make_driven_fabric(std::unique_ptr<carrier> carrier, const fabric_options& options,
                                           const clock& clock);

}  // namespace troupe
