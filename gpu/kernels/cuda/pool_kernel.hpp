// MaxPool and AveragePool over one to three spatial dimensions, with a thread for each output element.
// Overlapping windows are read from caches.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

struct pool_kernel {
  static constexpr uint32_t threads = 256, cluster = 1, max_dims = 3;
  static constexpr bool never_syncs = true;

  const float* x = nullptr;
  float* y = nullptr;
  uint32_t batch = 0, channels = 0, dims = 2;
  uint32_t in[max_dims] = {1, 1, 1}, out[max_dims] = {1, 1, 1}, kernel[max_dims] = {1, 1, 1};
  uint32_t stride[max_dims] = {1, 1, 1}, dilation[max_dims] = {1, 1, 1};
  int32_t before[max_dims] = {};    ///< padding
  uint32_t counted[max_dims] = {};  ///< an average counts positions below these; 0: those of the input
  bool average = false;
  bool channels_last = false;  ///< x and y are [batch, spatial, channels]; else [batch, channels, spatial]

  constexpr uint32_t count() const { return batch * channels * out[0] * out[1] * out[2]; }
  grid_size grid() const { return {ceil_div(count(), threads), 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    uint32_t i = t.block() * threads + t.index();
    if (i >= count()) return;
    const uint32_t at = i, places = out[0] * out[1] * out[2];
    const uint32_t channel = channels_last ? i % channels : i / places % channels;
    const uint32_t sample = i / (places * channels);
    i = channels_last ? i / channels % places : i % places;
    const uint32_t where[max_dims] = {i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]};

    const size_t step = channels_last ? channels : 1, size = size_t{in[0]} * in[1] * in[2];
    const float* from = x + size_t{sample} * channels * size + (channels_last ? channel : channel * size);
    int32_t first[max_dims];
    uint32_t divisor = 1;
    for (uint32_t d = 0; d < max_dims; ++d) {
      first[d] = static_cast<int32_t>(where[d] * stride[d]) - before[d];
      divisor *= positions(d, first[d]);
    }
    float best = -INFINITY, sum = 0;
    for (uint32_t a = 0; a < kernel[0]; ++a) {
      const int32_t p = first[0] + static_cast<int32_t>(a * dilation[0]);
      if (p < 0 || p >= static_cast<int32_t>(in[0])) continue;
      for (uint32_t b = 0; b < kernel[1]; ++b) {
        const int32_t q = first[1] + static_cast<int32_t>(b * dilation[1]);
        if (q < 0 || q >= static_cast<int32_t>(in[1])) continue;
        for (uint32_t c = 0; c < kernel[2]; ++c) {
          const int32_t r = first[2] + static_cast<int32_t>(c * dilation[2]);
          if (r < 0 || r >= static_cast<int32_t>(in[2])) continue;
          const float v = from[((static_cast<size_t>(p) * in[1] + q) * in[2] + r) * step];
          sum += v;
          if (v > best || v != v) best = v;  // keeps a NaN
        }
      }
    }
    y[at] = average ? sum / static_cast<float>(divisor) : best;
  }

 private:
  /// Number of the window's positions in a dimension that an average counts.
  TROUPE_DEVICE uint32_t positions(uint32_t d, int32_t first) const {
    uint32_t n = 0;
    for (uint32_t k = 0; k < kernel[d]; ++k) {
      const int32_t p = first + static_cast<int32_t>(k * dilation[d]);
      n += counted[d] > 0 ? p < static_cast<int32_t>(counted[d]) : p >= 0 && p < static_cast<int32_t>(in[d]);
    }
    return n;
  }
};

}  // namespace troupe::cuda
