#pragma once
#include <cstdint>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

/// Whether the address accepts TCP connections. Blocks the calling thread, for at most `limit` an address of
/// the host after name resolution.
bool accepts_connections(const std::string& host, uint16_t port, duration limit);

/// Why this process cannot listen there, for a library that does not say it: "cannot listen at ...: reason".
std::string listening_problem(const std::string& host, uint16_t port);

}  // namespace troupe
