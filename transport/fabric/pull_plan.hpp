// Plan of a pull: the ranges of a peer's registered memory that it copies, and which of them it reads last.
// All others are read before these, in any order and at once. So words in the last ones can vouch for the
// others: their owner wipes the words before it changes what they vouch for
// (transport/memory/pull_check.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "transport/common/fence.hpp"
#include "transport/common/streaming_copy.hpp"
#include "transport/fabric/pull_range.hpp"

namespace troupe {

/// Bounds of a plan: the ranges that are read before the last ones, and the last ones, which are short.
inline constexpr size_t max_early_ranges = 16384;
inline constexpr size_t max_last_ranges = 2;
inline constexpr size_t max_last_bytes = 32;

/// Number of bytes at each end of a pulled range that are read after all others.
inline constexpr size_t end_bytes = max_last_bytes / 2;

/// A range of a peer's memory, and where its bytes go.
struct pulled_range {
  uint64_t offset = 0;
  std::span<std::byte> into;

  pull_range range() const { return {offset, into.size()}; }
};

struct pull_plan {
  std::vector<pulled_range> ranges;
  size_t early = 0;  ///< the number of ranges that are read before the others
  bool bulk =
      false;  ///< nobody waits for the bytes: where this process copies them, its other threads come first

  uint64_t bytes() const {
    uint64_t out = 0;
    for (const auto& r : ranges) out += r.into.size();
    return out;
  }
  size_t last_bytes() const {
    size_t out = 0;
    for (size_t i = early; i < ranges.size(); ++i) out += ranges[i].into.size();
    return out;
  }
};

/// Pulls one range, and reads its ends after everything between them.
inline pull_plan plan_with_ends(uint64_t offset, std::span<std::byte> into, bool bulk = false) {
  if (into.size() <= 2 * end_bytes) return {{{offset, into}}, 0, bulk};
  const size_t tail = into.size() - end_bytes;
  return {{{offset + end_bytes, into.subspan(end_bytes, tail - end_bytes)},
           {offset, into.first(end_bytes)},
           {offset + tail, into.last(end_bytes)}},
          1,
          bulk};
}

/// The ranges of a plan, in its order, in memory that this process can read.
using pull_sources = std::vector<std::span<const std::byte>>;

/// The bytes of the ranges from number `early` on, one behind the other, read after everything that was read
/// before the call.
inline std::vector<std::byte> read_last(const pull_sources& from, size_t early) {
  read_fence();
  std::vector<std::byte> out;
  out.reserve(max_last_bytes);
  for (size_t i = early; i < from.size(); ++i) out.insert(out.end(), from[i].begin(), from[i].end());
  return out;
}

/// Writes what `read_last` has read. Requires: as many bytes as the plan's last ranges have.
inline void write_last(const pull_plan& plan, std::span<const std::byte> bytes) {
  for (size_t i = plan.early; i < plan.ranges.size(); ++i) {
    const auto into = plan.ranges[i].into;
    if (!into.empty()) std::memcpy(into.data(), bytes.data(), into.size());
    bytes = bytes.subspan(into.size());
  }
}

/// Copies the ranges of a plan within this process.
inline void copy_pulled(const pull_plan& plan, const pull_sources& from) {
  const bool large = plan.bytes() >= streaming_bytes;
  for (size_t i = 0; i < plan.early; ++i)
    if (large)
      streaming_copy(from[i], plan.ranges[i].into);
    else if (!from[i].empty())
      std::memcpy(plan.ranges[i].into.data(), from[i].data(), from[i].size());
  write_last(plan, read_last(from, plan.early));
}

}  // namespace troupe
