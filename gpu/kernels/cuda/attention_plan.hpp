// Divides the rows of a step into work items for attention. A single row of a sequence is a decode: it is
// split along its context, so that a long sequence keeps many warps busy (flash decoding). Several
// consecutive rows are a prefill: they are split into items whose rows share reads of keys and values.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cuda {

/// A part of a decode row's context.
struct decode_item {
  uint32_t row = 0, sequence = 0, position = 0;
  uint32_t chunk = 0;         ///< positions [chunk * chunk_tokens, .. + chunk_tokens)
  uint32_t chunk_tokens = 0;  ///< a multiple of 16
};

/// Rows of one sequence at consecutive positions.
struct prefill_item {
  uint32_t first_row = 0, rows = 0;
  uint32_t sequence = 0, first_position = 0;
};

inline constexpr uint32_t prefill_item_rows = 128;  ///< maximum
inline constexpr uint32_t max_chunks = 64;          ///< of a row

/// Depends on the row's own position alone, so that the row's bits do, too.
constexpr uint32_t decode_chunk(uint32_t position) {
  uint32_t tokens = 128;
  while (position / tokens >= max_chunks) tokens *= 2;
  return tokens;
}

struct attention_plan {
  std::vector<decode_item> decode;    ///< items of a row are consecutive
  std::vector<prefill_item> prefill;  ///< longest contexts first, so that none ends late

  /// row_sequence, positions: [rows], as in a step.
  void make(std::span<const uint32_t> row_sequence, std::span<const uint32_t> positions);
};

inline void attention_plan::make(std::span<const uint32_t> row_sequence,
                                 std::span<const uint32_t> positions) {
  decode.clear(), prefill.clear();
  const auto rows = static_cast<uint32_t>(positions.size());
  for (uint32_t first = 0, end = 0; first < rows; first = end) {
    const uint32_t sequence = row_sequence[first];
    while (end < rows && row_sequence[end] == sequence && positions[end] == positions[first] + (end - first))
      ++end;
    if (end - first == 1) {
      const uint32_t tokens = decode_chunk(positions[first]);
      for (uint32_t chunk = 0; chunk * tokens <= positions[first]; ++chunk)
        decode.push_back({first, sequence, positions[first], chunk, tokens});
      continue;
    }
    for (uint32_t row = first; row < end; row += prefill_item_rows) {
      const uint32_t left = end - row;
      prefill.push_back({row, left < prefill_item_rows ? left : prefill_item_rows, sequence, positions[row]});
    }
  }
  std::ranges::sort(prefill, [](const prefill_item& a, const prefill_item& b) {
    const uint32_t end_a = a.first_position + a.rows, end_b = b.first_position + b.rows;
    return end_a != end_b ? end_a > end_b : a.first_row < b.first_row;
  });
}

}  // namespace troupe::cuda
