// Divides a step's segments into tiles, one for each cluster of lora_kernel. Built on the host for each step
// and copied with its other tables, so that a captured graph runs any mix of adapters.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace troupe::cuda {

/// Consecutive rows with the same adapter.
struct lora_tile {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t adapter = 0;  ///< slot on the device, or no_adapter

  bool operator==(const lora_tile&) const = default;
};

inline constexpr uint32_t no_adapter = std::numeric_limits<uint32_t>::max();

/// Rows of a tile, which reads its adapter's matrices once. Narrow tiles spread a segment over more of the
/// device. Wide ones read less, if there are more tiles than the device runs at once.
inline constexpr uint32_t narrow_tile = 8, wide_tile = 32;
constexpr uint32_t lora_tile_rows(uint32_t rows_of_step) {
  return rows_of_step <= 256 ? narrow_tile : wide_tile;
}

/// Segment s is the rows segment_end[s] .. segment_end[s + 1], with the adapter in slot slots[s], or
/// `no_adapter`. No tiles if no segment has an adapter. segment_end: [slots + 1], ascending. tiles: replaced.
inline void cut_lora_tiles(std::span<const uint32_t> segment_end, std::span<const uint32_t> slots,
                           uint32_t tile_rows, std::vector<lora_tile>& tiles) {
  assert(segment_end.size() == slots.size() + 1);
  tiles.clear();
  if (std::ranges::all_of(slots, [](uint32_t slot) { return slot == no_adapter; })) return;
  for (size_t s = 0; s < slots.size(); ++s) {
    for (uint32_t row = segment_end[s]; row < segment_end[s + 1]; row += tile_rows) {
      const uint32_t left = segment_end[s + 1] - row;
      tiles.push_back({row, left < tile_rows ? left : tile_rows, slots[s]});
    }
  }
}

}  // namespace troupe::cuda
