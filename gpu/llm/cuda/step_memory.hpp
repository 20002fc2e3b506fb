// What the kernels of a step share on the device: tables that the host writes for each step, and activations.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/kernels/cuda/attention_plan.hpp"
#include "gpu/kernels/cuda/kv_pages.hpp"
#include "gpu/kernels/cuda/lora_tiles.hpp"
#include "gpu/kernels/cuda/sampling_kernel.hpp"
#include "gpu/llm/cuda/decoder_shape.hpp"

namespace troupe::cuda {

/// How many of everything a step has, or a captured graph has room for.
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

/// Read on the device, so that a graph serves any number.
struct step_counts {
  uint32_t rows = 0, sampled = 0, decode_items = 0, prefill_items = 0;
};

/// Offsets of the tables in one piece of memory, the same on the host and on the device.
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
  size_t bytes = 0;  ///< of all

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
  int32_t* tokens;  ///< [rows]; below 0: of embedding_kernel's `before`, until that has run
  uint32_t *positions, *row_sequence;  ///< [rows]
  uint32_t* sampled;                   ///< [sampled] rows
  uint32_t *block_start, *blocks;
  lora_tile* tiles;
  decode_item* decode_items;
  prefill_item* prefill_items;
  row_sampling* samplings;  ///< [sampled]
  token_adjustment* adjustments;
};

/// Activations, of numbers E (16 bits) but for floats; [rows, ...] each.
struct step_activations {
  float* residual = nullptr;                              ///< [hidden]
  float *cosine = nullptr, *sine = nullptr;               ///< [head_dim / 2]
  void *normed = nullptr, *delta = nullptr;               ///< [hidden]
  void *qkv = nullptr, *attended = nullptr;               ///< [q | k | v], [q]
  void *gate_up = nullptr, *gated = nullptr;              ///< [gate | up], [intermediate]
  float* logits = nullptr;                                ///< [sampled, logits_stride]
  float* parts = nullptr;                                 ///< of other ranks: [.., sampled, part().most]
  sampled_row* chosen = nullptr;                          ///< [sampled]; until then, of the step before
  float *partial_out = nullptr, *partial_sums = nullptr;  ///< of paged_decode_kernel
  uint32_t* arrived = nullptr;                            ///< likewise

  /// Gives out pieces of `base`; with null, only counts. Returns the bytes of all.
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
