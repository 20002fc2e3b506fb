#pragma once
#include <cstdint>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

/// Whether the address accepts TCP connections. Blocks the calling thread, for at most `limit` after name
/// resolution: a host without power does not even refuse, and the kernel would try for minutes.
bool accepts_connections(const std::string& host, uint16_t port, duration limit);

/// Why this process cannot listen there, for a library that does not say it: "cannot listen at ...: reason".
std::string listening_problem(const std::string& host, uint16_t port);

}  // namespace troupe
