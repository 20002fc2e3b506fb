// Header of Troupe's active messages.
#pragma once
#include <cstddef>
#include <cstdint>

#include "messages/common/ids.hpp"

namespace troupe::ucx {

enum class message_kind : uint16_t {
  frame = 1,     ///< bytes for fabric_events::on_frame; `number` counts them on their stream
  pull_request,  ///< bytes: a pull_request; `number` is the pull_number that the answer repeats
  pull_early,    ///< bytes of the early range with the number `stream`
  pull_last,     ///< those of all last ranges
  pull_refused,  ///< no bytes: no arena has one of the ranges, or the request is none
  opening,       ///< no bytes; it makes UCX connect the endpoints, and the receiver ignores it
};

/// In host byte order; addresses of hosts of another order are refused (ucx_address). It is small: with a
/// frame of 64 bytes it just fits UCX's inline writes into its shared-memory queue.
struct message_head {
  static constexpr size_t bytes = 28;  ///< on the wire, without padding

  uint64_t incarnation = 0;  ///< of `from`
  uint64_t secret = 0;       ///< of the receiver, from its address
  uint32_t stream = 0;       ///< connection of `from` to this peer, counting up; of an early range its number
  uint32_t number = 0;       ///< of the frame on its stream, modulo 2^32; of a pull its pull_number
  uint16_t from = 0;         ///< node
  message_kind kind{};
};
static_assert(offsetof(message_head, kind) + sizeof(message_kind) == message_head::bytes);

}  // namespace troupe::ucx
