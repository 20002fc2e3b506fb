// The softmax of attention, a tile of positions at a time, for rows that lie over the lanes of a warp as
// tensor cores leave them. Base 2.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// A lane has numbers of `Halves` rows; the others of those rows have the lanes whose numbers differ in bits
/// First .. Last. Of rows of products that is 1 .. 2, of columns 4 .. 16.
template <uint32_t Halves, uint32_t First = 1, uint32_t Last = 2>
struct online_softmax {
  /// A score that stands for minus infinity, which would make NaN of differences.
  static constexpr float none = -1e30F;
  static constexpr float slack = 8;

  float maximum[Halves];   // of scores, or up to `slack` less
  float sum[Halves] = {};  // of powers, this lane's alone

  TROUPE_DEVICE online_softmax() {
    for (float& m : maximum) m = none;
  }

  /// scores [Blocks][2 * Halves], `none` for what is not seen -> the powers of `scale` times them, to be
  /// multiplied with values; `shrink`: what the results so far have to be multiplied with. scale > 0.
  template <uint32_t Blocks, class Thread>
  TROUPE_DEVICE void add(Thread t, float (&scores)[Blocks][2 * Halves], float scale,
                         float (&shrink)[Halves]) {
    TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
      float new_maximum = maximum[half];
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) new_maximum =
          larger(new_maximum, larger(scores[b][2 * half], scores[b][2 * half + 1]));
      TROUPE_UNROLL for (uint32_t bit = First; bit <= Last; bit *= 2) new_maximum =
          larger(new_maximum, t.shuffle_xor(new_maximum, bit));
      // a maximum that has grown little stays as it is: powers of at most 2^slack do no harm, and results
      // that need not shrink need not be touched
      if ((new_maximum - maximum[half]) * scale <= slack) new_maximum = maximum[half];
      shrink[half] = t.exp2((maximum[half] - new_maximum) * scale);
      maximum[half] = new_maximum;
      sum[half] *= shrink[half];
      const float base =
          new_maximum <= none ? 0 : new_maximum * scale;  // a row that has seen nothing yet: powers of 0
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) {
        TROUPE_UNROLL for (uint32_t i = 2 * half; i < 2 * half + 2; ++i) {
          scores[b][i] = t.exp2(scores[b][i] * scale - base);  // one operation before the power
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
