// Dense layers with BF16 weights by AVX-512's dot products of BF16 pairs. Internal to the kernels.
//
// Inputs are rounded to BF16, sums are f32. A sum adds the products of one pair of inputs after another,
// whatever the number of rows, so the bits of a row depend on nothing but that row. Inputs and sums
// below 1.2e-38 count as 0.
#pragma once
#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

/// Requires: `has_isa(isa::avx512_bf16)`, weights of BF16, a row and an output.
void dense_bf16(const dense_args& args);

}  // namespace troupe::kernels
