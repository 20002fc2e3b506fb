// RMSNorm: fused with the addition to the residual stream before it, or of the heads of queries and keys.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

struct rms_norm_args {
  float* residual = nullptr;   ///< [rows, width]; x is added to it, if not null
  size_t residual_stride = 0;  ///< floats from row to row, at least `width`
  const float* x = nullptr;    ///< [rows, width], or null: `residual` is only read
  size_t x_stride = 0;
  const uint32_t* which = nullptr;  ///< [rows] indices into `residual` and x, distinct; null: 0, 1, 2 ...
  const float* weight = nullptr;    ///< [width]
  float epsilon = 1e-5F;            ///< added to the mean of the squares
  float* out = nullptr;             ///< [rows, width]: residual / sqrt(mean(residual^2) + epsilon) * weight
  size_t out_stride = 0;            ///< `out` may be `residual` if `which` is null; this overwrites it
  size_t rows = 0, width = 0;
};

struct head_norm_args {
  float* x = nullptr;   ///< [rows, heads, head_dim], each head normalised in place
  size_t x_stride = 0;  ///< floats from row to row, at least heads * head_dim
  size_t rows = 0;
  uint32_t heads = 0, head_dim = 0;
  const float* weight = nullptr;  ///< [head_dim]
  float epsilon = 1e-5F;          ///< added to the mean of the squares
};

void rms_norm_reference(const rms_norm_args& args);
void rms_norm(const rms_norm_args& args);
void head_norm_reference(const head_norm_args& args);
void head_norm(const head_norm_args& args);

}  // namespace troupe::kernels
