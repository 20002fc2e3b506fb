// The softmax of attention, a tile of positions at a time, for rows that lie over the lanes of a warp as
// tensor cores leave them. Base 2.
#pragma once
#include "gpu/cuda/device_code.hpp"

namespace troupe::cuda {

/// A lane has numbers of `Halves` rows; the others of those rows have the lanes whose numbers differ in bits
/// First .. Last. Of rows of products that is 1 .. 2, of columns 4 .. 16.
template <uint32_t Halves, uint32_t First = 1, uint32_t Last = 2>
struct online_softmax {
  static constexpr float none = -1e30F;  // stands for minus infinity, which would make NaN of differences

  float maximum[Halves], sum[Halves] = {};  // sum: of this lane alone

  TROUPE_DEVICE online_softmax() {
    for (float& m : maximum) m = none;
  }

  /// scores [Blocks][2 * Halves], at most `none` for what is not seen -> their powers, to be multiplied with
  /// values; `shrink`: what the results so far have to be multiplied with.
  template <uint32_t Blocks, class Thread>
  TROUPE_DEVICE void add(Thread t, float (&scores)[Blocks][2 * Halves], float (&shrink)[Halves]) {
    TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
      float most = maximum[half];
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) most =
          larger(most, larger(scores[b][2 * half], scores[b][2 * half + 1]));
      TROUPE_UNROLL for (uint32_t bit = First; bit <= Last; bit *= 2) most =
          larger(most, t.shuffle_xor(most, bit));
      shrink[half] = t.exp2(maximum[half] - most);
      maximum[half] = most;
      sum[half] *= shrink[half];
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) {
        TROUPE_UNROLL for (uint32_t i = 2 * half; i < 2 * half + 2; ++i) {
          // a row that has seen nothing yet: its maximum is `none`, too
          scores[b][i] = scores[b][i] <= none ? 0 : t.exp2(scores[b][i] - most);
          sum[half] += scores[b][i];
        }
      }
    }
  }
  /// Sums of all lanes of a row.
  template <class Thread>
  TROUPE_DEVICE void finish(Thread t) {
    TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
      TROUPE_UNROLL for (uint32_t bit = First; bit <= Last; bit *= 2) sum[half] +=
          t.shuffle_xor(sum[half], bit);
    }
  }
};

}  // namespace troupe::cuda
