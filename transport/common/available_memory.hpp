// How much memory this machine has left.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// Bytes that could be used without swapping, as the kernel estimates them (MemAvailable of /proc/meminfo),
/// and those of huge pages that are reserved and free; nothing if it does not say. Containers may be allowed
/// less.
std::optional<uint64_t> available_memory();

/// The same, of what /proc/meminfo says.
std::optional<uint64_t> available_memory(std::string_view meminfo);

}  // namespace troupe
