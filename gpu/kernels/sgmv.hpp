// LoRA for batches that mix adapters (SGMV: segmented gather matrix-vector multiplication, Punica §4): y +=
// scale (x A^T) B, where each segment of consecutive rows has its own A and B.
//
// Each number of v is one dot product over the inputs, each number of y one sum over the ranks 0, 1, 2 ...;
// the order of both is independent of rows, segments and threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/element.hpp"

namespace troupe::kernels {

/// One adapter's matrices for one projection. Not owned.
struct lora_weights {
  const void* a = nullptr;  ///< [rank, in]
  const void* b = nullptr;  ///< [rank, out]: B transposed, for contiguous reads
  uint32_t rank = 0;        ///< at most 256; 0, or a null matrix: the segment's rows are unchanged
  float scale = 1;          ///< alpha / rank

  bool adapts() const { return a != nullptr && b != nullptr && rank > 0; }
};

inline constexpr uint32_t lora_max_rank = 256;

/// The adapters of rows. The same for all projections of a step, except `projection`.
struct lora_segments {
  const uint32_t* segment_end = nullptr;  ///< [count + 1], ascending from 0: segment s is rows [s] .. [s + 1]
  /// [count] The matrices of each segment's adapter, one for each projection. Null: the base model.
  const lora_weights* const* adapters = nullptr;
  uint32_t count = 0;
  element type = element::f32;  ///< of all the matrices
  size_t projection = 0;        ///< index into an adapter's matrices

  /// Null: the segment's rows are unchanged.
  const lora_weights* weights(uint32_t segment) const {
    const lora_weights* all = adapters[segment];
    return all != nullptr && all[projection].adapts() ? all + projection : nullptr;
  }
};

struct sgmv_shrink_args {
  lora_segments segments;
  const float* x = nullptr;  ///< [rows, in]
  size_t x_stride = 0;       ///< floats from row to row, at least `in`
  size_t in = 0;
  float* v = nullptr;   ///< [rows, v_stride]: x A^T is written to a row's first `rank` numbers
  size_t v_stride = 0;  ///< at least the largest rank
};

struct sgmv_expand_args {
  lora_segments segments;
  const float* v = nullptr;  ///< [rows, v_stride], of sgmv_shrink
  size_t v_stride = 0;
  float* y = nullptr;   ///< [rows, out]: scale v B is added
  size_t y_stride = 0;  ///< floats from row to row, at least `out`
  size_t out = 0;
};

/// One projection's adapters: shrink, then expand.
struct lora_args {
  lora_segments segments;
  const float* x = nullptr;  ///< [rows, in]
  size_t x_stride = 0;
  size_t in = 0;
  float* v = nullptr;  ///< [rows, v_stride], scratch
  size_t v_stride = 0;
  float* y = nullptr;  ///< [rows, out], added to; does not overlap x
  size_t y_stride = 0;
  size_t out = 0;

  sgmv_shrink_args shrink() const { return {segments, x, x_stride, in, v, v_stride}; }
  sgmv_expand_args expand() const { return {segments, v, v_stride, y, y_stride, out}; }
};

void sgmv_shrink_reference(const sgmv_shrink_args& args);
void sgmv_shrink(const sgmv_shrink_args& args);
void sgmv_expand_reference(const sgmv_expand_args& args);
void sgmv_expand(const sgmv_expand_args& args);
void lora_reference(const lora_args& args);
void lora(const lora_args& args);

}  // namespace troupe::kernels
