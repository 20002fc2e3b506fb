// Random convolutions for tests.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gpu/kernels/cuda/conv_args.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

namespace troupe::cuda {

inline size_t positions(const conv_args& a, const uint32_t* extent) {
  size_t all = 1;
  for (uint32_t d = 0; d < a.dims; ++d) all *= extent[d];
  return all;
}
inline size_t x_size(const conv_args& a) { return size_t{a.batch} * a.channels * positions(a, a.in); }
inline size_t y_size(const conv_args& a) { return size_t{a.batch} * a.features * positions(a, a.out); }
inline size_t w_size(const conv_args& a) {
  return size_t{a.channels} * a.features / a.groups * positions(a, a.kernel);
}

/// The spatial size of y, or transposed of x, derived from the other.
inline uint32_t positions_of(const conv_args& a, uint32_t d, uint32_t many) {
  return (many + 2 * a.pad[d] - a.dilation[d] * (a.kernel[d] - 1) - 1) / a.stride[d] + 1;
}

/// A convolution with its numbers.
struct conv_case {
  conv_case(const conv_args& shape, bool has_bias, bool has_residual, std::mt19937& random)
      : args(shape),
        x(x_size(shape)),
        w(w_size(shape)),
        bias(shape.features),
        residual(y_size(shape)),
        y(y_size(shape)) {
    for (auto* a : {&x, &w, &bias, &residual})
      for (size_t i = 0; i < a->size(); ++i) (*a)[i] = static_cast<float>(random() % 20001) / 10000 - 1;
    args.x = x.data(), args.w = w.data(), args.y = y.data();
    if (has_bias) args.bias = bias.data();
    if (has_residual) args.residual = residual.data();
  }
  conv_args args;
  shared_array<float> x, w, bias, residual, y;
};

inline conv_case random_convolution(std::mt19937& random) {
  const auto draw = [&](uint32_t min, uint32_t max) {
    return min + static_cast<uint32_t>(random() % (max - min + 1));
  };
  conv_args a;
  a.dims = draw(1, 3), a.batch = draw(1, 3), a.groups = draw(0, 1) == 0 ? 1 : draw(1, 3);
  a.channels = a.groups * draw(1, 5), a.features = a.groups * draw(1, 5);
  a.transposed = draw(0, 2) == 0, a.channels_last = draw(0, 1) == 0, a.relu = draw(0, 1) == 0;
  for (uint32_t d = 0; d < a.dims; ++d) {
    a.kernel[d] = draw(1, 3), a.stride[d] = draw(1, 3), a.dilation[d] = draw(1, 2);
    const uint32_t reach = a.dilation[d] * (a.kernel[d] - 1) + 1;
    a.pad[d] = draw(0, std::min(2U, (reach - 1) / 2));
    if (a.transposed) {  // positions of y that no position of x reaches are ONNX's output padding
      a.in[d] = draw(1, 5);
      a.out[d] = (a.in[d] - 1) * a.stride[d] + reach - 2 * a.pad[d] + draw(0, a.stride[d] - 1);
    } else {
      a.in[d] = reach + draw(0, 6);
      a.out[d] = positions_of(a, d, a.in[d]);
    }
  }
  return {a, draw(0, 1) == 0, draw(0, 1) == 0, random};
}

/// The largest difference; infinite if either value is NaN.
inline double distance(const shared_array<float>& a, const std::vector<float>& b) {
  double max = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double apart = std::abs(double{a[i]} - b[i]);
    max = std::isfinite(apart) ? std::max(max, apart) : INFINITY;
  }
  return max;
}

}  // namespace troupe::cuda
