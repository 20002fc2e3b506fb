// Available memory of the machine.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// Bytes usable without swapping, as the kernel estimates them (MemAvailable of /proc/meminfo), plus reserved
/// and free huge pages; nothing if unknown. Limits of containers do not count.
std::optional<uint64_t> available_memory();

/// The same, from the text of /proc/meminfo.
std::optional<uint64_t> available_memory(std::string_view meminfo);

}  // namespace troupe
