// The cuDNN descriptors of a convolution, and its algorithm. Private to conv.cpp; only in builds with cuDNN.
#pragma once
#include <cudnn.h>

#include <optional>
#include <string>

#include "gpu/kernels/cuda/check.hpp"
#include "gpu/kernels/cuda/conv_args.hpp"
#include "gpu/kernels/cuda/device_memory.hpp"
#include "gpu/kernels/cuda/owned_handle.hpp"

namespace troupe::cuda {

/// The error's text, with cuDNN's last message in brackets.
std::string complaint();
std::string reason(cudnnStatus_t code);

/// Throws conv_error, or device_lost if that caused the failure on this stream.
void check(cudnnStatus_t code, const conv_args& a, std::optional<cudaStream_t> stream = {});

struct conv_algorithm {
  int code = 0;  ///< cudnnConvolutionFwdAlgo_t; cudnnConvolutionBwdDataAlgo_t if transposed
  cudnnMathType_t math = CUDNN_FMA_MATH;
  size_t workspace = 0;
};

struct conv_plan {
  owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor> x, y, bias;
  owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor> w;
  owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor> what;
  owned<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor> behind;  ///< for the epilogue
  device_memory no_bias;  ///< zeros; cuDNN's epilogue always adds a bias
  conv_algorithm how;
  bool taken = false;  ///< the epilogue is fused
};

/// The descriptors, without an algorithm. Throws conv_error.
conv_plan describe_conv(const conv_args& a);

}  // namespace troupe::cuda
