// Online softmax of attention, by tiles of positions, for rows in the register layout of tensor core results.
// Base 2.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// A lane has numbers of `Halves` rows. The lanes that share these rows differ in bits First .. Last of their
/// index: 1 .. 2 for rows of products, 4 .. 16 for columns.
template <uint32_t Halves, uint32_t First = 1, uint32_t Last = 2>
struct online_softmax {
  /// Stands for a score of minus infinity, which would give NaN in differences.
  static constexpr float none = -1e30F;
  static constexpr float slack = 8;

  float maximum[Halves];   // of scores, or less by up to `slack`
  float sum[Halves] = {};  // of powers, of this lane only

  TROUPE_DEVICE online_softmax() {
    for (float& m : maximum) m = none;
  }

  /// Replaces scores [Blocks][2 * Halves] (`none` where masked) by the powers of `scale` times them, the
  /// weights of the values. `shrink`: factor for the results so far. scale > 0.
  template <uint32_t Blocks, class Thread>
  TROUPE_DEVICE void add(Thread t, float (&scores)[Blocks][2 * Halves], float scale,
                         float (&shrink)[Halves]) {
    TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
      float new_maximum = maximum[half];
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) new_maximum =
          larger(new_maximum, larger(scores[b][2 * half], scores[b][2 * half + 1]));
      TROUPE_UNROLL for (uint32_t bit = First; bit <= Last; bit *= 2) new_maximum =
          larger(new_maximum, t.shuffle_xor(new_maximum, bit));
      // keeps a maximum that has grown little: powers up to 2^slack are harmless, and results need no
      // rescaling
      if ((new_maximum - maximum[half]) * scale <= slack) new_maximum = maximum[half];
      shrink[half] = t.exp2((maximum[half] - new_maximum) * scale);
      maximum[half] = new_maximum;
      sum[half] *= shrink[half];
      const float base =
          new_maximum <= none ? 0 : new_maximum * scale;  // a fully masked row so far: powers are 0
      TROUPE_UNROLL for (uint32_t b = 0; b < Blocks; ++b) {
        TROUPE_UNROLL for (uint32_t i = 2 * half; i < 2 * half + 2; ++i) {
          scores[b][i] = t.exp2(scores[b][i] * scale - base);  // one fma before the power
          sum[half] += scores[b][i];
        }
      }
    }
  }
  /// Adds up the sums of a row's lanes.
  template <class Thread>
  TROUPE_DEVICE void finish(Thread t) {
    TROUPE_UNROLL for (uint32_t half = 0; half < Halves; ++half) {
      TROUPE_UNROLL for (uint32_t bit = First; bit <= Last; bit *= 2) sum[half] +=
          t.shuffle_xor(sum[half], bit);
    }
  }
};

}  // namespace troupe::cuda
