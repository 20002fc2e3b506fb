// Addresses that only this host can reach.
#pragma once
#include <string>

namespace troupe {

/// True for 127.0.0.0/8 and ::1, and for a name all of whose addresses are among them. Resolves names, which
/// may block; a name that does not resolve is not loopback, nor is an invalid address such as 127.0.0.999.
bool is_loopback(const std::string& host);

}  // namespace troupe
