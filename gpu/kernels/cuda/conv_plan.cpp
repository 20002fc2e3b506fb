#ifdef TROUPE_CUDNN
#include "gpu/kernels/cuda/conv_plan.hpp"

#include <vector>

namespace troupe::cuda {

std::string complaint() {
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof text);
  return text[0] == 0 ? "" : " (" + std::string(text) + ")";
}
std::string reason(cudnnStatus_t code) { return cudnnGetErrorString(code) + complaint(); }

void check(cudnnStatus_t code, const conv_args& a, std::optional<cudaStream_t> stream) {
  if (code == CUDNN_STATUS_SUCCESS) return;
  const std::string why = reason(code);
  if (stream) throw_if_lost(*stream, to_string(a).c_str());
  throw conv_error(to_string(a) + ": cuDNN: " + why);
}

namespace {

using tensor = owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using filter = owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using product = owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
using activation = owned<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

template <class Owned, auto Create>
Owned made(const conv_args& a) {
  typename Owned::pointer p = nullptr;
  check(Create(&p), a);
  return Owned(p);
}

/// Spatial dimensions for cuDNN: two or three. One dimension becomes two with height 1.
int spatial(const conv_args& a) { return a.dims == 3 ? 3 : 2; }
void append(std::vector<int>& to, const conv_args& a, const uint32_t* numbers, int filler) {
  if (a.dims == 1) to.push_back(filler);
  for (uint32_t d = 0; d < a.dims; ++d) to.push_back(static_cast<int>(numbers[d]));
}

/// Descriptor of [outer, channels, extent...], stored channels last or first.
tensor make_tensor(const conv_args& a, uint32_t outer, uint32_t channels, const uint32_t* extent, bool last) {
  std::vector<int> dims{static_cast<int>(outer), static_cast<int>(channels)};
  append(dims, a, extent, 1);
  std::vector<int> steps(dims.size());
  int step = last ? dims[1] : 1;
  for (size_t d = dims.size(); d-- > 2; step *= dims[d]) steps[d] = step;
  steps[1] = last ? 1 : step;
  steps[0] = last ? step : step * dims[1];
  tensor t = made<tensor, cudnnCreateTensorDescriptor>(a);
  check(cudnnSetTensorNdDescriptor(t.get(), CUDNN_DATA_FLOAT, static_cast<int>(dims.size()), dims.data(),
                                   steps.data()),
        a);
  return t;
}

}  // namespace

conv_plan describe_conv(const conv_args& a) {
  conv_plan p;
  p.x = make_tensor(a, a.batch, a.channels, a.in, a.channels_last);
  p.y = make_tensor(a, a.batch, a.features, a.out, a.channels_last);
  // the gradient uses the filter of its forward convolution
  std::vector<int> dims{static_cast<int>(a.transposed ? a.channels : a.features),
                        static_cast<int>((a.transposed ? a.features : a.channels) / a.groups)};
  append(dims, a, a.kernel, 1);
  p.w = made<filter, cudnnCreateFilterDescriptor>(a);
  check(cudnnSetFilterNdDescriptor(p.w.get(), CUDNN_DATA_FLOAT,
                                   a.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                   static_cast<int>(dims.size()), dims.data()),
        a);
  std::vector<int> pad, stride, dilation;
  append(pad, a, a.pad, 0), append(stride, a, a.stride, 1), append(dilation, a, a.dilation, 1);
  for (size_t d = 0; d < dilation.size(); ++d)
    if (dims[d + 2] == 1) dilation[d] = 1;  // equivalent, and required by cuDNN's engines
  p.what = made<product, cudnnCreateConvolutionDescriptor>(a);
  check(cudnnSetConvolutionNdDescriptor(p.what.get(), spatial(a), pad.data(), stride.data(), dilation.data(),
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        a);
  check(cudnnSetConvolutionGroupCount(p.what.get(), static_cast<int>(a.groups)), a);
  check(cudnnSetConvolutionMathType(p.what.get(), a.tf32 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH), a);
  if (!a.has_epilogue()) return p;

  const uint32_t one[conv_args::max_dims] = {1, 1, 1};
  p.bias = make_tensor(a, 1, a.features, one, false);
  p.behind = made<activation, cudnnCreateActivationDescriptor>(a);
  check(
      cudnnSetActivationDescriptor(p.behind.get(), a.relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                   CUDNN_NOT_PROPAGATE_NAN, 0),
      a);
  return p;
}

}  // namespace troupe::cuda
#endif
