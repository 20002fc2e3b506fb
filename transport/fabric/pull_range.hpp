// The range of a pull, and its copy in two parts: a fabric reads the first and the last 16 bytes after all
// others, so that words there can vouch for them (transport/memory/pull_check.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/common/fence.hpp"
#include "transport/common/streaming_copy.hpp"

namespace troupe {

/// Number of bytes at each end of a pulled range that are read after all others.
inline constexpr size_t end_bytes = 16;
using range_ends = std::array<std::byte, 2 * end_bytes>;

struct pull_range {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Both ends of a range of at least 32 bytes, read after everything that was read before the call.
inline range_ends read_ends(std::span<const std::byte> range) {
  range_ends out;
  read_fence();
  std::memcpy(out.data(), range.data(), end_bytes);
  std::memcpy(out.data() + end_bytes, range.data() + range.size() - end_bytes, end_bytes);
  return out;
}

inline void write_ends(const range_ends& ends, std::span<std::byte> into) {
  std::memcpy(into.data(), ends.data(), end_bytes);
  std::memcpy(into.data() + into.size() - end_bytes, ends.data() + end_bytes, end_bytes);
}

/// Copies a range within this process; `into` is as large.
inline void copy_range(std::span<const std::byte> range, std::span<std::byte> into) {
  if (range.size() >= streaming_bytes)
    streaming_copy(range, into);
  else if (!range.empty())
    std::memcpy(into.data(), range.data(), range.size());
  if (range.size() >= 2 * end_bytes) write_ends(read_ends(range), into);
}

}  // namespace troupe
