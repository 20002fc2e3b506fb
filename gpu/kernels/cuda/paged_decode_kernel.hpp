// Attention of decode rows to their cached tokens (as in gpu/kernels/paged_attention.hpp), by flash decoding.
//
// The limit is reading keys and values once. A warp works alone, on one KV head and up to `chunk_tokens`
// positions. All query heads of the group are columns of its tensor core products, so that grouped queries
// cost no more reads. Keys and values are loaded 16 tokens at a time, directly into operand registers, 16
// bytes a lane; the next sixteen are loaded while these are processed:
//  - keys, the rows of scores: lane (g, q) reads dims 8q .. 8q + 7 of tokens g, g + 8; the queries' dims
//    have the same order;
//  - values, with dims as rows: it reads dims 8g .. 8g + 7 of tokens 2q, 2q + 1, 2q + 8, 2q + 9, and pairs
//    tokens in registers. Rows g, g + 8 of product i are then dims 8g + 2i and the next, so that a lane's
//    results are 8 adjacent dims.
// The last warp of a row combines its chunks, in their order: a row's bits depend on itself alone.
#pragma once
#include "gpu/kernels/cuda/attention_plan.hpp"
#include "gpu/kernels/cuda/kv_pages.hpp"
#include "gpu/kernels/cuda/online_softmax.hpp"

namespace troupe::cuda {

/// E: type of 16 bits. Dim: 16, 32, 64 or 128. Halves: 1 for up to 8 heads of a group, 2 for up to 16; fewer
/// registers allow more reads in flight.
template <element E, uint32_t Dim, uint32_t Halves = 2>
struct paged_decode_kernel {
  static constexpr uint32_t threads = 64, cluster = 1;
  static constexpr uint32_t max_group = 8 * Halves;
  static constexpr uint32_t min_blocks = Dim < 128 ? 6 : Halves == 1 ? 6 : 4;  // blocks of a multiprocessor

  const uint32_t* item_count = nullptr;  ///< [1]
  const decode_item* items = nullptr;    ///< [item_count]
  const void* q = nullptr;               ///< [rows, heads, Dim], rows q_stride apart
  size_t q_stride = 0;                   ///< a multiple of 8
  void* out = nullptr;                   ///< [rows, heads, Dim], contiguous; rows of items are written
  uint32_t heads = 0;                    ///< at most `max_group` for each kv head
  kv_pages kv;
  page_table table;
  uint32_t layer = 0, window = 0;
  float scale = 1;                ///< of the scores, times log2(e)
  float* partial_out = nullptr;   ///< [item_count, heads, Dim], scratch
  float* partial_sums = nullptr;  ///< [item_count, heads, 2], scratch
  uint32_t* arrived = nullptr;    ///< [rows, kv_heads], zero before and after

  /// Any number of blocks is correct; this many run at once.
  grid_size grid(uint32_t multiprocessors) const { return {multiprocessors * min_blocks, 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    const uint32_t count = *item_count * kv.kv_heads, warps = threads / 32;
    for (uint32_t i = t.block() * warps + t.warp(); i < count; i += t.blocks() * warps)
      work(t, i / kv.kv_heads, i % kv.kv_heads);
    t.grid_dependency_sync();  // also for warps without work
  }

 private:
  static constexpr uint32_t key_groups = ceil_div(Dim, 32U), value_groups = ceil_div(Dim, 64U);

  static constexpr uint32_t own = 2 * Halves;  // heads of a lane: 2q, 2q + 1, and 8 more
  using softmax_of_heads = online_softmax<own, 4, 16>;
  using accumulators = float[value_groups][4][Halves][4];

  template <class Thread>
  TROUPE_DEVICE void work(Thread t, uint32_t index, uint32_t kv_head) const {
    const decode_item item = items[index];
    const uint32_t begin = window == 0 || item.position < window ? 0 : item.position - window + 1;
    const uint32_t first = item.chunk * item.chunk_tokens;
    const uint32_t end = smaller(first + item.chunk_tokens, item.position + 1);
    if (end <= begin) return;  // the chunk is outside of the window

    const uint32_t group = heads / kv.kv_heads;
    tile<Thread> now{t, *this, item.sequence, kv_head, begin, end};
    accumulators result = {};
    softmax_of_heads softmax;
    uint32_t position = larger(first, begin / 16 * 16);
    uint32_t vectors = now.find(position);
    t.grid_dependency_sync();  // before this, only the step's tables are read, which the previous kernel does
                               // not write
    now.load_queries(item.row, group);
    now.load_keys(position, vectors), now.load_values(position, vectors);
    while (position < end) {
      vectors = now.find(position + 16);
      float scores[1][2 * own];
      now.multiply_keys(position, scores);
      now.load_keys(position + 16, vectors);
      float shrink[own];
      softmax.add(t, scores, scale, shrink);
      now.multiply_values(scores, shrink, result);
      now.load_values(position + 16, vectors);
      position += 16;
    }
    softmax.finish(t);

    const uint32_t first_chunk = begin / item.chunk_tokens, last_chunk = item.position / item.chunk_tokens;
    if (first_chunk == last_chunk) {
      write(t, item.row, kv_head, group, softmax, result);
      return;
    }
    keep(t, index, kv_head, group, softmax, result);
    t.sync_warp();
    uint32_t before = 0;
    uint32_t* counter = arrived + size_t{item.row} * kv.kv_heads + kv_head;
    if (t.lane() == 0) before = t.atomic_add_release(counter, 1);
    before = t.shuffle(before, 0);
    if (before < last_chunk - first_chunk) return;
    if (t.lane() == 0) t.fence_acq_rel();
    t.sync_warp();  // makes the stored results visible to all lanes
    join(t, item.row, index - item.chunk + first_chunk, index - item.chunk + last_chunk, kv_head, group);
    if (t.lane() == 0) *counter = 0;
  }

  /// Sixteen positions of one sequence and kv head, in a warp's registers.
  template <class Thread>
  struct tile {
    Thread t;
    const paged_decode_kernel& k;
    uint32_t sequence, kv_head, begin, end;
    vec16 queries[key_groups][Halves] = {};  // of heads g and g + 8
    vec16 keys[2][key_groups] = {};          // of tokens g and g + 8
    vec16 values[4][value_groups] = {};

    TROUPE_DEVICE bool seen(uint32_t position) const { return position >= begin && position < end; }
    TROUPE_DEVICE void load_queries(uint32_t row, uint32_t group) {
      const uint32_t g = t.lane() / 4, q = t.lane() % 4;
      const auto* from = static_cast<const uint16_t*>(k.q) + row * k.q_stride + kv_head * group * Dim;
      TROUPE_UNROLL for (uint32_t j = 0; j < key_groups; ++j) {
        TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
          const uint32_t head = g + 8 * half, dim = 32 * j + 8 * q;
          queries[j][half] = head < group && dim < Dim ? t.load(from + head * Dim + dim) : vec16{};
        }
      }
    }
    /// Position of the vector of token `lane % 16` in the cache, in vectors from layer 0's keys.
    TROUPE_DEVICE uint32_t find(uint32_t position) const {
      position += t.lane() % 16;
      if (position >= end) return 0;
      const uint32_t page = k.table.page(sequence, position, k.kv.page_tokens);
      return page * (k.kv.layers * 2 * k.kv.kv_heads * k.kv.page_tokens) + position % k.kv.page_tokens;
    }
    TROUPE_DEVICE const uint16_t* head_of(uint32_t part) const {
      return static_cast<const uint16_t*>(k.kv.pages) +
             size_t{(k.layer * 2 + part) * k.kv.kv_heads + kv_head} * k.kv.page_tokens * Dim;
    }
    TROUPE_DEVICE void load_keys(uint32_t position, uint32_t vectors) {
      const uint32_t g = t.lane() / 4, q = t.lane() % 4;
      TROUPE_UNROLL for (uint32_t b = 0; b < 2; ++b) {
        const uint32_t token = 8 * b + g;
        const uint16_t* from = head_of(0) + size_t{t.shuffle(vectors, token)} * Dim + 8 * q;
        TROUPE_UNROLL for (uint32_t j = 0; j < key_groups; ++j) {
          const bool there = seen(position + token) && 32 * j + 8 * q < Dim;
          keys[b][j] = there ? t.load_no_allocate(from + 32 * j) : vec16{};
        }
      }
    }
    TROUPE_DEVICE void load_values(uint32_t position, uint32_t vectors) {
      const uint32_t g = t.lane() / 4, q = t.lane() % 4;
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t token = 2 * q + i % 2 + i / 2 * 8;
        const uint16_t* from = head_of(1) + size_t{t.shuffle(vectors, token)} * Dim + 8 * g;
        TROUPE_UNROLL for (uint32_t d = 0; d < value_groups; ++d) {
          const bool there = seen(position + token) && 64 * d + 8 * g < Dim;
          values[i][d] = there ? t.load_no_allocate(from + 64 * d) : vec16{};
        }
      }
    }
    /// scores: of tokens g, g + 8 for each of the lane's heads.
    TROUPE_DEVICE void multiply_keys(uint32_t position, float (&scores)[1][2 * own]) const {
      const uint32_t g = t.lane() / 4;
      const bool first = seen(position + g), second = seen(position + g + 8);
      TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
        float d[4] = {};
        TROUPE_UNROLL for (uint32_t j = 0; j < key_groups; ++j) {
          TROUPE_UNROLL for (uint32_t s = 0; s < 2; ++s) {
            const uint32_t a[4] = {keys[0][j].word[2 * s], keys[1][j].word[2 * s], keys[0][j].word[2 * s + 1],
                                   keys[1][j].word[2 * s + 1]};
            t.template mma<E>(d, a, queries[j][half].word[2 * s], queries[j][half].word[2 * s + 1]);
          }
        }
        TROUPE_UNROLL for (uint32_t i = 0; i < 2; ++i) {
          float(&of_head)[2 * own] = scores[0];
          of_head[4 * half + 2 * i] = first ? d[i] : softmax_of_heads::none;
          of_head[4 * half + 2 * i + 1] = second ? d[i + 2] : softmax_of_heads::none;
        }
      }
    }
    TROUPE_DEVICE void multiply_values(const float (&powers)[1][2 * own], const float (&shrink)[own],
                                       accumulators& result) const {
      uint32_t b[Halves][2];  // of tokens 2q, 2q + 1 and 8 more, for head g
      TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
        TROUPE_UNROLL for (uint32_t i = 0; i < 2; ++i) b[half][i] =
            t.movmatrix_trans(t.template pack<E>(powers[0][4 * half + i], powers[0][4 * half + 2 + i]));
      }
      TROUPE_UNROLL for (uint32_t d = 0; d < value_groups; ++d) {
        TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t a[4] = {
              pair(values[0][d], values[1][d], 2 * i), pair(values[0][d], values[1][d], 2 * i + 1),
              pair(values[2][d], values[3][d], 2 * i), pair(values[2][d], values[3][d], 2 * i + 1)};
          TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
            float(&sums)[4] = result[d][i][half];
            TROUPE_UNROLL for (uint32_t r = 0; r < 4; ++r) sums[r] *= shrink[2 * half + r % 2];
            t.template mma<E>(sums, a, b[half][0], b[half][1]);
          }
        }
      }
    }
    /// Pairs number i of both.
    TROUPE_DEVICE static uint32_t pair(const vec16& low, const vec16& high, uint32_t i) {
      const uint32_t a = low.word[i / 2], b = high.word[i / 2];
      return i % 2 == 0 ? (a & 0xffff) | b << 16 : a >> 16 | (b & 0xffff0000);
    }
  };
  /// The head, within the group, of a lane's number r.
  template <class Thread>
  TROUPE_DEVICE static uint32_t head_of(Thread t, uint32_t r) {
    return r / 2 * 8 + t.lane() % 4 * 2 + r % 2;
  }
  /// Writes directly to `out`.
  template <class Thread>
  TROUPE_DEVICE void write(Thread t, uint32_t row, uint32_t kv_head, uint32_t group,
                           const softmax_of_heads& s, const accumulators& result) const {
    TROUPE_UNROLL for (uint32_t r = 0; r < own; ++r) {
      if (head_of(t, r) >= group) continue;
      const float factor = 1 / s.sum[r];
      auto* to = static_cast<uint16_t*>(out) + (size_t{row} * heads + kv_head * group + head_of(t, r)) * Dim;
      TROUPE_UNROLL for (uint32_t d = 0; d < value_groups; ++d) {
        const uint32_t dim = 64 * d + t.lane() / 4 * 8;
        if (dim >= Dim) continue;
        vec16 v;
        TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) v.word[i] =
            t.template pack<E>(result[d][i][r / 2][r % 2] * factor, result[d][i][r / 2][r % 2 + 2] * factor);
        t.store(to + dim, v);
      }
    }
  }

  /// Writes to the scratch memory, not yet divided by the sums.
  template <class Thread>
  TROUPE_DEVICE void keep(Thread t, uint32_t index, uint32_t kv_head, uint32_t group,
                          const softmax_of_heads& s, const accumulators& result) const {
    TROUPE_UNROLL for (uint32_t r = 0; r < own; ++r) {
      if (head_of(t, r) >= group) continue;
      const size_t at = size_t{index} * heads + kv_head * group + head_of(t, r);
      if (t.lane() < 4) partial_sums[at * 2] = s.maximum[r], partial_sums[at * 2 + 1] = s.sum[r];
      TROUPE_UNROLL for (uint32_t d = 0; d < value_groups; ++d) {
        const uint32_t dim = 64 * d + t.lane() / 4 * 8;
        if (dim >= Dim) continue;
        float eight[8];
        TROUPE_UNROLL for (uint32_t i = 0; i < 8; ++i) eight[i] = result[d][i / 2][r / 2][r % 2 + i % 2 * 2];
        vec16 v[2];
        memcpy(v, eight, sizeof v);
        t.store(partial_out + at * Dim + dim, v[0]), t.store(partial_out + at * Dim + dim + 4, v[1]);
      }
    }
  }

  static constexpr uint32_t together = 16;  // chunks loaded ahead

  /// Combines the chunks first .. last of a row, and writes to `out`.
  template <class Thread>
  TROUPE_DEVICE void join(Thread t, uint32_t row, uint32_t first, uint32_t last, uint32_t kv_head,
                          uint32_t group) const {
    for (uint32_t i = t.lane() * 4; i < group * Dim; i += 32 * 4) {
      const uint32_t head = kv_head * group + i / Dim;
      const auto at = [&](uint32_t chunk) { return size_t{smaller(chunk, last)} * heads + head; };
      float maximum = softmax_of_heads::none;
      for (uint32_t c = first; c <= last; c += together) {
        float maxima[together];
        TROUPE_UNROLL for (uint32_t k = 0; k < together; ++k) maxima[k] = partial_sums[at(c + k) * 2];
        TROUPE_UNROLL for (uint32_t k = 0; k < together; ++k) maximum = larger(maximum, maxima[k]);
      }
      float sum = 0, result[4] = {};
      for (uint32_t c = first; c <= last; c += together) {
        float maxima[together], sums[together];
        vec16 outs[together];
        TROUPE_UNROLL for (uint32_t k = 0; k < together; ++k) {
          maxima[k] = partial_sums[at(c + k) * 2], sums[k] = partial_sums[at(c + k) * 2 + 1];
          outs[k] = t.load(partial_out + at(c + k) * Dim + i % Dim);
        }
        TROUPE_UNROLL for (uint32_t k = 0; k < together; ++k) {
          const float factor = c + k > last ? 0 : t.exp2((maxima[k] - maximum) * scale);
          sum += factor * sums[k];
          float four[4];
          memcpy(four, &outs[k], sizeof four);
          TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) result[j] += factor * four[j];
        }
      }
      auto* to = reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(out) +
                                             (size_t{row} * heads + head) * Dim + i % Dim);
      to[0] = t.template pack<E>(result[0] / sum, result[1] / sum);
      to[1] = t.template pack<E>(result[2] / sum, result[3] / sum);
    }
  }
};

}  // namespace troupe::cuda
