// Fabric over another one that holds pulls to the rate of this process's network interface, to emulate slow
// networks: all bytes arrive at the speed of the carrier, but a pull ends no sooner than it would over the
// interfaces of both processes. The interfaces are full duplex.
//
// A pull of more than `paced_bytes` reserves time on two interfaces: for arriving bytes on its own process's,
// at once, and for leaving bytes on the owner's, by a frame to the owner. The owner answers with the duration
// until that time is over, so the clocks of the two need not agree. Pulls take their turns on an interface in
// the order of their reservations, each as a whole; what they reserve passes even if they are lost. Several
// pulls at a time keep an interface busy: their reservations are made early, and overlap with the copying.
//
// Frames, shorter pulls and pulls of a process from itself are not held up.
#pragma once
#include <cstddef>
#include <memory>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Pulls up to this size are not paced.
inline constexpr size_t paced_bytes = 64u << 10;

struct paced_options {
  node_id self;
  double gbit_per_s = 0;  ///< of this process's interface, in each direction; positive
};

/// All processes of a cluster are paced, or none: a paced one sends frames that others do not know, and
/// appends a byte to all frames. The byte and the frames count in the limits of `carrier` and in `stats`.
/// `time` drives `on_tick` of `carrier`, too, and outlives the fabric. A pull that its owner does not answer
/// waits until the connection ends.
std::unique_ptr<fabric> make_paced_fabric(std::unique_ptr<fabric> carrier, const paced_options& options,
                                          const clock& time);

}  // namespace troupe
