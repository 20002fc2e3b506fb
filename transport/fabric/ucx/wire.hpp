// Header of Troupe's active messages.
#pragma once
#include <cstddef>
#include <cstdint>

#include "messages/common/ids.hpp"

namespace troupe::ucx {

enum class message_kind : uint16_t {
  frame = 1,     ///< bytes for fabric_events::on_frame; `number` counts them on their stream
  pull_request,  ///< bytes: pull_range; `number` is the pull_number that the answer repeats
  pull_middle,   ///< everything but the first and the last 16 bytes
  pull_ends,     ///< the first and the last 16 bytes (of a short range, all of it)
  pull_refused,  ///< no bytes: no arena has the range
  opening,       ///< no bytes; it makes UCX connect the endpoints, and the receiver ignores it
};

/// In host byte order; addresses of hosts of another order are refused (ucx_address). It is small: with a
/// frame of 64 bytes it just fits UCX's inline writes into its shared-memory queue.
struct message_head {
  static constexpr size_t bytes = 28;  ///< on the wire, without padding

  uint64_t incarnation = 0;  ///< of `from`
  uint64_t secret = 0;       ///< of the receiver, from its address
  uint32_t stream = 0;       ///< connection of `from` to this peer, counting up
  uint32_t number = 0;       ///< of the frame on its stream, modulo 2^32; of a pull its pull_number
  uint16_t from = 0;         ///< node
  message_kind kind{};
};
static_assert(offsetof(message_head, kind) + sizeof(message_kind) == message_head::bytes);

}  // namespace troupe::ucx
