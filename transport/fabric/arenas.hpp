// Memory of a process that peers may pull from: several arenas in one space of offsets, in the order of their
// allocation, 2⁴⁸ bytes apart.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/pull_range.hpp"

namespace troupe {

inline constexpr unsigned arena_offset_bits = 48;
inline constexpr size_t max_arenas = 64;

struct arena_place {
  size_t arena = 0;
  uint64_t offset = 0;  ///< in the arena
};
constexpr arena_place place_of(uint64_t offset) {
  return {static_cast<size_t>(offset >> arena_offset_bits),
          offset & ((uint64_t{1} << arena_offset_bits) - 1)};
}

/// The place of a range in arenas of these sizes, or nothing if no arena has all of it.
inline std::optional<arena_place> place_of(const pull_range& range, std::span<const uint64_t> sizes) {
  const auto at = place_of(range.offset);
  if (at.arena >= sizes.size() || at.offset > sizes[at.arena] || range.size > sizes[at.arena] - at.offset)
    return std::nullopt;
  return at;
}

/// The arenas of this process.
class arenas {
 public:
  /// Throws std::runtime_error if there are `max_arenas`.
  registered_memory add(std::span<std::byte> bytes, memory_kind kind) {
    if (all_.size() == max_arenas) throw std::runtime_error("the fabric has 64 arenas already");
    const auto offset = static_cast<uint64_t>(all_.size()) << arena_offset_bits;
    all_.push_back(bytes);
    sizes_.push_back(bytes.size());
    return {bytes, kind, offset};
  }
  const std::vector<uint64_t>& sizes() const { return sizes_; }
  /// Nothing if no arena has the whole range.
  std::optional<std::span<const std::byte>> find(const pull_range& range) const {
    const auto at = place_of(range, sizes_);
    if (!at) return std::nullopt;
    return std::span<const std::byte>(all_[at->arena]).subspan(at->offset, range.size);
  }
  /// Nothing if one of the ranges is not there.
  std::optional<pull_sources> find_all(std::span<const pull_range> ranges) const {
    pull_sources out;
    out.reserve(ranges.size());
    for (const auto& r : ranges)
      if (const auto found = find(r))
        out.push_back(*found);
      else
        return std::nullopt;
    return out;
  }
  bool has(const pull_plan& plan) const {
    return std::ranges::all_of(
        plan.ranges, [&](const pulled_range& r) { return place_of(r.range(), sizes_).has_value(); });
  }
  /// A pull from this memory within the process.
  pull_status pull(const pull_plan& plan) const {
    pull_sources from;
    from.reserve(plan.ranges.size());
    for (const auto& r : plan.ranges)
      if (const auto found = find(r.range()))
        from.push_back(*found);
      else
        return pull_status::refused;
    copy_pulled(plan, from);
    return pull_status::ok;
  }

 private:
  std::vector<std::span<std::byte>> all_;
  std::vector<uint64_t> sizes_;
};

}  // namespace troupe
