// TCP connections that are given up after a time.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

struct tcp_connection {
  int socket = -1;       ///< non-blocking, the receiver's; -1: none
  std::string problem;   ///< why there is none, of the last address tried
  bool refused = false;  ///< the host answers, and nothing listens at the port
  bool unknown = false;  ///< the name does not resolve, and will not at another attempt
};

/// Told of each socket before it is connected, and of -1 after a failure. False: try no further.
using on_tcp_socket = std::function<bool(int socket)>;

/// Connects to the addresses of `host` one after another, each for at most `limit`: the kernel itself would
/// try for minutes if packets are lost on the way. Blocks the calling thread; name resolution comes on top.
/// `refused` counts the addresses that can be tried from this machine.
tcp_connection connect_tcp(
    const std::string& host, uint16_t port, duration limit,
    const on_tcp_socket& watch = [](int) { return true; });

}  // namespace troupe
