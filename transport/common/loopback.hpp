// Addresses that only this host can reach.
#pragma once
#include <functional>
#include <string>

namespace troupe {

/// True for 127.0.0.0/8 and ::1, and for a name all of whose addresses are among them. Looks each name up
/// once, which may block; a name that is not found is not loopback, nor is an invalid address such as
/// 127.0.0.999. Thread-safe.
bool is_loopback(const std::string& host);

/// `notice` is called if the look-up of a name takes longer than a second, while it goes on. To be set while
/// the process has one thread.
void on_slow_lookup(std::function<void(const std::string& host)> notice);

}  // namespace troupe
