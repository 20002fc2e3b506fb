// The activation of Gemma's gated feed-forward layers: gelu(gate) * up, with GELU by its approximation
// x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))), which Transformers calls gelu_pytorch_tanh (Hendrycks
// and Gimpel 2016, with tanh written as a logistic function).
#pragma once
#include "gpu/kernels/silu_mul.hpp"

namespace troupe::kernels {

using gelu_mul_args = silu_mul_args;

void gelu_mul_reference(const gelu_mul_args& args);
void gelu_mul(const gelu_mul_args& args);

}  // namespace troupe::kernels
