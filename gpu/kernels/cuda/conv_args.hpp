// Arguments of f32 convolutions, as ONNX's Conv and ConvTranspose define them: y = relu(conv(x, w) + bias +
// residual).
//
// Channels first: x and residual and y are [batch, channels, spatial...], w is
// [features, channels / groups, kernel...]; transposed it is [channels, features / groups, kernel...].
// Channels last:  [batch, spatial..., channels], [features, kernel..., channels / groups], and
// [channels, kernel..., features / groups].
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace troupe::cuda {

class conv_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// All tensors are contiguous and aligned to 16 bytes. Unused dimensions are ignored.
struct conv_args {
  static constexpr uint32_t max_dims = 3;
  const float *x = nullptr, *w = nullptr;
  const float* bias = nullptr;                                 ///< [features], or null
  const float* residual = nullptr;                             ///< like y, or null; may be y itself
  float* y = nullptr;                                          ///< does not overlap the other inputs
  uint32_t batch = 0, channels = 0, features = 0, groups = 1;  ///< channels: of x, features: of y
  uint32_t dims = 2;                                           ///< spatial: 1 to 3
  uint32_t in[max_dims] = {}, out[max_dims] = {}, kernel[max_dims] = {};
  uint32_t stride[max_dims] = {}, dilation[max_dims] = {};  ///< 1: none
  uint32_t pad[max_dims] = {};                              ///< with zeros, on both sides
  bool transposed = false;  ///< the gradient of a convolution: elements of x are a stride apart in y
  bool channels_last = false;
  bool relu = false;
  bool tf32 = false;  ///< x and w may be rounded to TF32 (10 bits of fraction) before they are multiplied

  bool has_epilogue() const { return bias != nullptr || residual != nullptr || relu; }
  conv_args without_epilogue() const {
    conv_args a = *this;
    a.bias = a.residual = nullptr, a.relu = false;
    return a;
  }
};

/// Identifies a convolution: all arguments except addresses.
using conv_key = std::array<uint32_t, 6 + 6 * size_t{conv_args::max_dims}>;

inline conv_key key_of(const conv_args& a) {
  conv_key key{a.batch, a.channels, a.features, a.groups, a.dims};
  uint32_t flags = 0;
  for (const bool flag :
       {a.transposed, a.channels_last, a.relu, a.tf32, a.bias != nullptr, a.residual != nullptr})
    flags = flags * 2 + flag;
  key[5] = flags;
  size_t next = 6;
  for (uint32_t d = 0; d < a.dims && d < conv_args::max_dims; ++d)
    for (const uint32_t n : {a.in[d], a.out[d], a.kernel[d], a.stride[d], a.dilation[d], a.pad[d]})
      key[next++] = n;
  return key;
}

/// For messages: "a convolution of [8, 64, 56, 56] with [64, 64, 3, 3] ...".
inline std::string to_string(const conv_args& a) {
  const auto list = [&](const uint32_t* numbers) {
    std::string text;
    for (uint32_t d = 0; d < a.dims && d < conv_args::max_dims; ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(numbers[d]);
    return text;
  };
  const uint32_t first = a.transposed ? a.channels : a.features, all = a.transposed ? a.features : a.channels;
  return std::string(a.transposed ? "a transposed convolution of [" : "a convolution of [") +
         std::to_string(a.batch) + ", " + std::to_string(a.channels) + ", " + list(a.in) + "] with [" +
         std::to_string(first) + ", " + std::to_string(a.groups == 0 ? all : all / a.groups) + ", " +
         list(a.kernel) + "] to [" + std::to_string(a.batch) + ", " + std::to_string(a.features) + ", " +
         list(a.out) + "] (groups " + std::to_string(a.groups) + ", strides " + list(a.stride) +
         ", dilations " + list(a.dilation) + ", pads " + list(a.pad) +
         (a.channels_last ? ", channels last" : "") + ")";
}

/// Throws conv_error if the arguments are inconsistent.
inline void check(const conv_args& a) {
  const auto refuse = [&](const char* why) { throw conv_error(to_string(a) + ": " + why); };
  if (a.dims < 1 || a.dims > conv_args::max_dims) refuse("there are 1 to 3 spatial dimensions");
  if (a.groups == 0 || a.channels % a.groups != 0 || a.features % a.groups != 0)
    refuse("the groups do not divide the channels and features");
  constexpr double max_count = std::numeric_limits<int32_t>::max();  // the libraries' index type
  double x = 1.0 * a.batch * a.channels, y = 1.0 * a.batch * a.features;
  double w = 1.0 * a.channels * a.features / a.groups;
  for (uint32_t d = 0; d < a.dims; ++d) {
    // the larger side is x, or y if transposed
    const uint64_t many = a.transposed ? a.out[d] : a.in[d], few = a.transposed ? a.in[d] : a.out[d];
    const uint64_t padded = many + 2 * uint64_t{a.pad[d]};
    if (a.stride[d] == 0 || a.dilation[d] == 0 || a.kernel[d] == 0)
      refuse("its kernel, strides and dilations are at least 1");
    const uint64_t reach = uint64_t{a.dilation[d]} * (a.kernel[d] - 1) + 1;
    if (padded < reach || (padded - reach) / a.stride[d] + 1 != few)
      refuse("the extents do not fit together");
    x *= a.in[d], y *= a.out[d], w *= a.kernel[d];
  }
  if (x < 1 || y < 1 || w < 1) refuse("there is nothing in it");
  if (x > max_count || y > max_count || w > max_count)
    refuse("it has a tensor of more than 2^31 - 1 numbers");
  for (const float* p : {a.x, a.w, a.bias, a.residual, static_cast<const float*>(a.y)})
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0) refuse("its tensors must be aligned to 16 bytes");
}

}  // namespace troupe::cuda
