// The layout of a step's memory: tables that the host writes for each step, and activations.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/kernels/cuda/attention_plan.hpp"
#include "gpu/kernels/cuda/kv_pages.hpp"
#include "gpu/kernels/cuda/lora_tiles.hpp"
#include "gpu/kernels/cuda/sampling_kernel.hpp"
#include "gpu/llm/cuda/decoder_shape.hpp"

namespace troupe::cuda {

/// The sizes of a step, or the maximum sizes of a captured graph or of a piece of memory.
struct step_extent {
  uint32_t rows = 0, sampled = 0, sequences = 0;
  uint32_t block_entries = 0;  ///< of the page table
  uint32_t tiles = 0;          ///< of lora_kernel
  uint32_t decode_items = 0, prefill_items = 0;
  uint32_t adjustments = 0;  ///< of sampling_kernel

  bool holds(const step_extent& other) const {
    return other.rows <= rows && other.sampled <= sampled && other.sequences <= sequences &&
           other.block_entries <= block_entries && other.tiles <= tiles &&
           other.decode_items <= decode_items && other.prefill_items <= prefill_items &&
           other.adjustments <= adjustments;
  }
};

inline constexpr uint32_t max_graph_rows = 256;
/// Rows of the graph that runs a decode step of `rows` rows: 1, 2, 4 or a multiple of 8, because more rows
/// cost little beside the weights.
constexpr uint32_t graph_rows(uint32_t rows) { return rows <= 2 ? rows : rows <= 4 ? 4 : (rows + 7) / 8 * 8; }
/// The extent of that graph.
constexpr step_extent graph_extent(const step_extent& step) {
  step_extent e = step;
  e.rows = e.sampled = graph_rows(step.rows);
  e.tiles = step.tiles > 0 ? e.rows : 0;
  e.decode_items = 1;  // any number but 0: the kernel's grid does not depend on it
  e.prefill_items = 0;
  return e;
}

/// Read by kernels, so that one graph serves all smaller steps.
struct step_counts {
  uint32_t rows = 0, sampled = 0, decode_items = 0, prefill_items = 0;
};

/// Offsets of the tables in one allocation, equal on host and device.
struct table_layout {
  explicit table_layout(const step_extent& max_extent) {
    counts = room(sizeof(step_counts));
    tokens = room(max_extent.rows * 4), positions = room(max_extent.rows * 4),
    row_sequence = room(max_extent.rows * 4);
    sampled = room(max_extent.sampled * 4);
    block_start = room((max_extent.sequences + 1) * 4), blocks = room(size_t{max_extent.block_entries} * 4);
    tiles = room(max_extent.tiles * sizeof(lora_tile));
    decode_items = room(max_extent.decode_items * sizeof(decode_item));
    prefill_items = room(max_extent.prefill_items * sizeof(prefill_item));
    samplings = room(max_extent.sampled * sizeof(row_sampling));
    adjustments = room(max_extent.adjustments * sizeof(token_adjustment));
  }
  size_t counts, tokens, positions, row_sequence, sampled, block_start, blocks, tiles, decode_items,
      prefill_items, samplings, adjustments;
  size_t bytes = 0;  ///< total

 private:
  size_t room(size_t more) {
    const size_t at = bytes;
    bytes = (bytes + more + 15) / 16 * 16;
    return at;
  }
};

/// The tables in memory that starts at `base`.
struct step_tables {
  step_tables(std::byte* base, const table_layout& at)
      : counts(reinterpret_cast<step_counts*>(base + at.counts)),
        tokens(reinterpret_cast<int32_t*>(base + at.tokens)),
        positions(reinterpret_cast<uint32_t*>(base + at.positions)),
        row_sequence(reinterpret_cast<uint32_t*>(base + at.row_sequence)),
        sampled(reinterpret_cast<uint32_t*>(base + at.sampled)),
        block_start(reinterpret_cast<uint32_t*>(base + at.block_start)),
        blocks(reinterpret_cast<uint32_t*>(base + at.blocks)),
        tiles(reinterpret_cast<lora_tile*>(base + at.tiles)),
        decode_items(reinterpret_cast<decode_item*>(base + at.decode_items)),
        prefill_items(reinterpret_cast<prefill_item*>(base + at.prefill_items)),
        samplings(reinterpret_cast<row_sampling*>(base + at.samplings)),
        adjustments(reinterpret_cast<token_adjustment*>(base + at.adjustments)) {}
  page_table pages() const { return {block_start, blocks}; }

  step_counts* counts;
  int32_t* tokens;                     ///< [rows]; below 0: replaced by embedding_kernel
  uint32_t *positions, *row_sequence;  ///< [rows]
  uint32_t* sampled;                   ///< [sampled] rows
  uint32_t *block_start, *blocks;
  lora_tile* tiles;
  decode_item* decode_items;
  prefill_item* prefill_items;
  row_sampling* samplings;  ///< [sampled]
  token_adjustment* adjustments;
};

/// Activations, [rows, ...] each. `void`: 16-bit numbers of the decoder's type.
struct step_activations {
  float* residual = nullptr;                  ///< [hidden]
  float *cosine = nullptr, *sine = nullptr;   ///< [head_dim / 2]
  void *normed = nullptr, *delta = nullptr;   ///< [hidden]
  void *qkv = nullptr, *attended = nullptr;   ///< [q | k | v], [q]
  void *gate_up = nullptr, *gated = nullptr;  ///< [gate | up], [intermediate]
  float* logits = nullptr;                    ///< [sampled, logits_stride]
  float* parts = nullptr;                     ///< of other ranks: [ranks - 1, sampled, part().max_count]
  sampled_row* chosen = nullptr;              ///< [sampled]; the step before's until sampling
  float *partial_out = nullptr, *partial_sums = nullptr;  ///< of paged_decode_kernel
  uint32_t* arrived = nullptr;                            ///< of paged_decode_kernel

  /// Places the activations in memory at `base`; null: only computes the size. Returns the size in bytes.
  size_t place(std::byte* base, const decoder_shape& s, const step_extent& max_extent) {
    size_t used = 0;
    const auto room = [&]<class T>(T*& where, size_t bytes) {
      if (base != nullptr) where = reinterpret_cast<T*>(base + used);
      used = (used + bytes + 255) / 256 * 256;
    };
    const size_t rows = max_extent.rows;
    room(residual, rows * s.hidden * 4);
    room(cosine, rows * (s.head_dim / 2) * 4), room(sine, rows * (s.head_dim / 2) * 4);
    const auto short_numbers = [&](void*& where, size_t width) {
      auto* bytes = static_cast<std::byte*>(where);
      room(bytes, rows * width * 2);
      where = bytes;
    };
    short_numbers(normed, s.hidden), short_numbers(delta, s.hidden);
    short_numbers(qkv, s.qkv_width()), short_numbers(attended, s.q_width());
    short_numbers(gate_up, size_t{2} * s.intermediate), short_numbers(gated, s.intermediate);
    room(logits, size_t{max_extent.sampled} * s.logits_stride() * 4);
    room(parts, s.rank > 0 ? 0 : size_t{s.ranks - 1} * max_extent.sampled * s.part().max_count * 4);
    room(chosen, size_t{max_extent.sampled} * sizeof(sampled_row));
    room(partial_out, size_t{max_extent.decode_items} * s.q_width() * 4);
    room(partial_sums, size_t{max_extent.decode_items} * s.heads * 2 * 4);
    room(arrived, rows * s.kv_heads * 4);
    return used;
  }
};

}  // namespace troupe::cuda
