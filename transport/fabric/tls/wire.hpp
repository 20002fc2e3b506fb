// What travels over a connection of the TLS fabric. The dialling side sends a hello, and then frames and
// requests for pulls, each behind a head. The accepting side sends the answers to the pulls, in their order.
// All numbers are in host byte order; addresses of hosts of another order are refused (tls_address).
#pragma once
#include <cstdint>

namespace troupe::tls {

struct hello {
  static constexpr uint64_t expected_magic = 0x316c'7468'5052'5402;
  uint64_t magic = expected_magic;
  uint64_t secret = 0;  ///< of the accepting side, from its address; likewise the epoch
  uint64_t epoch = 0;
  uint64_t incarnation = 0;  ///< of the dialling side
  uint32_t node = 0;         ///< likewise
  uint32_t stream = 0;       ///< counts its connections to all peers
};
static_assert(sizeof(hello) == 40);

enum class message_kind : uint32_t {
  frame = 1,  ///< bytes for fabric_events::on_frame
  pull,       ///< bytes: a pull_request
  answer,     ///< behind the head: its ranges, in their order
  refusal,    ///< no arena has one of them
};

struct head {
  message_kind kind{};
  uint32_t bytes = 0;  ///< behind it; 0 of answers
};
static_assert(sizeof(head) == 8);

}  // namespace troupe::tls
