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

/// Throws std::runtime_error if there is less than `bytes`, which are to be registered memory. UCX may write
/// all of it at once, and the pool may come to use it: an allocation beyond the available memory would kill
/// this and other processes of the machine, and killed ones leave their part in /dev/shm.
void require_memory(uint64_t bytes);

}  // namespace troupe
