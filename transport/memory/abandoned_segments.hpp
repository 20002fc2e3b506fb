// Segments of shared memory whose processes were killed before they could remove them.
//
// UCX gives a segment a name in /dev/shm, maps it, and removes the name soon after. SIGKILL in between leaves
// the memory in use until somebody removes the file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace troupe {

struct removed_segments {
  size_t count = 0;
  uint64_t bytes = 0;
};

/// Removes the segments of UCX in `folder` that belong to this user, were last written before
/// `written_before`, and that no process has open or mapped. (The time is for processes in other containers,
/// which are not visible.) Never throws for what cannot be read or removed; that stays.
removed_segments remove_abandoned_segments(const std::filesystem::path& folder,
                                           std::filesystem::file_time_type written_before);

}  // namespace troupe
