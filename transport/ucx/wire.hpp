// What troupe's active messages carry in front of their bytes.
#pragma once
#include <cstdint>

#include "messages/ids.hpp"

namespace troupe::ucx {

enum class message_kind : uint32_t {
  frame = 1,     ///< bytes for fabric_events::on_frame; `number` counts them on their stream
  pull_request,  ///< bytes: pull_range; `number` is the ticket that the answer repeats
  pull_middle,   ///< everything but the first and the last 16 bytes
  pull_ends,     ///< the first and the last 16 bytes (of a short range, all of it)
  pull_refused,  ///< no bytes: the range is not inside the pool
};

/// In the byte order of the host; addresses of hosts of another order are refused (ucx_address).
struct message_head {
  message_kind kind{};
  uint32_t from = 0;    ///< node
  uint64_t life = 0;    ///< of `from`
  uint64_t to = 0;      ///< life of the receiver that is meant; 0 = whichever lives
  uint32_t stream = 0;  ///< connection of `from` to this peer, counting up
  uint32_t unused = 0;
  uint64_t number = 0;
};
static_assert(sizeof(message_head) == 40);

struct pull_range {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// How many bytes at each end of a pulled range are read after all others.
inline constexpr uint64_t end_bytes = 16;

}  // namespace troupe::ucx
