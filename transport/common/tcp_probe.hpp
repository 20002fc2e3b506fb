#pragma once
#include <cstdint>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

/// Whether something accepts TCP connections there. Blocks the calling thread, for `limit` at most once the
/// name is resolved: a host without power does not even refuse, and the kernel would try for minutes.
bool accepts_connections(const std::string& host, uint16_t port, duration limit);

}  // namespace troupe
