// The reference of conv_args: plain loops in double.
#pragma once
#include <algorithm>
#include <vector>

#include "gpu/kernels/cuda/conv_args.hpp"
#include "tests/gpu/kernels/cuda/tf32.hpp"

namespace troupe::cuda {

namespace conv_loops {

/// Three spatial dimensions; with fewer, the first ones are 1.
struct extents {
  explicit extents(const uint32_t (&given)[conv_args::max_dims], uint32_t dims, uint32_t filler) {
    for (uint32_t d = 0; d < 3; ++d) n[d] = d < 3 - dims ? filler : given[d - (3 - dims)];
  }
  size_t all() const { return n[0] * n[1] * n[2]; }
  size_t n[3];
};

/// Index into [outer, channels, spatial] or, channels last, [outer, spatial, channels].
struct tensor_index {
  size_t channels, positions;
  bool last;
  size_t at(size_t outer, size_t channel, size_t position) const {
    return last ? (outer * positions + position) * channels + channel
                : (outer * channels + channel) * positions + position;
  }
};

}  // namespace conv_loops

inline void conv_reference(const conv_args& a) {
  using namespace conv_loops;
  const extents in(a.in, a.dims, 1), out(a.out, a.dims, 1), kernel(a.kernel, a.dims, 1);
  const extents stride(a.stride, a.dims, 1), dilation(a.dilation, a.dims, 1), pad(a.pad, a.dims, 0);
  const size_t channels = a.channels / a.groups, features = a.features / a.groups;
  const tensor_index xs{a.channels, in.all(), a.channels_last}, ys{a.features, out.all(), a.channels_last};
  const tensor_index ws{a.transposed ? features : channels, kernel.all(), a.channels_last};
  const auto rounded = [&](float number) { return double{a.tf32 ? to_tf32(number) : number}; };
  /// The position in `to` that position p of `from` reaches through k of the kernel; false: in the padding,
  /// or between two positions.
  const auto meets = [&](size_t d, size_t p, size_t k, size_t& at) {
    const size_t shift = k * dilation.n[d];
    if (!a.transposed) {
      at = p * stride.n[d] + shift - pad.n[d];
      return at < in.n[d];  // negative values wrap around
    }
    at = p + pad.n[d] - shift;
    if (p + pad.n[d] < shift || at % stride.n[d] != 0) return false;
    at /= stride.n[d];
    return at < in.n[d];
  };
  for (size_t b = 0; b < a.batch; ++b)
    for (size_t f = 0; f < a.features; ++f)
      for (size_t o = 0; o < out.all(); ++o) {
        const size_t to[3] = {o / out.n[2] / out.n[1], o / out.n[2] % out.n[1], o % out.n[2]};
        double sum = 0;
        for (size_t k = 0; k < kernel.all(); ++k) {
          size_t from[3];
          if (!meets(0, to[0], k / kernel.n[2] / kernel.n[1], from[0]) ||
              !meets(1, to[1], k / kernel.n[2] % kernel.n[1], from[1]) ||
              !meets(2, to[2], k % kernel.n[2], from[2]))
            continue;
          const size_t position = (from[0] * in.n[1] + from[1]) * in.n[2] + from[2];
          for (size_t i = 0; i < channels; ++i) {
            const size_t c = f / features * channels + i;
            sum += rounded(a.x[xs.at(b, c, position)]) *
                   rounded(a.w[a.transposed ? ws.at(c, f % features, k) : ws.at(f, i, k)]);
          }
        }
        const size_t at = ys.at(b, f, o);
        if (a.bias != nullptr) sum += a.bias[f];
        if (a.residual != nullptr) sum += a.residual[at];
        a.y[at] = static_cast<float>(a.relu ? std::max(sum, 0.0) : sum);
      }
}

}  // namespace troupe::cuda
