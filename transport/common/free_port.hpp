#pragma once
#include <cstdint>

namespace troupe {

/// Whether a TCP listener without SO_REUSEADDR, such as UCX's, can be bound to one of the ports first..last.
/// It cannot while a connection to an earlier listener of that port is in TIME_WAIT, for 60 s on Linux.
bool has_free_port(uint16_t first, uint16_t last);

}  // namespace troupe
