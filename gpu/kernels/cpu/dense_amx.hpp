// Dense layers with BF16 weights by AMX: tiles of 16 x 16 sums of products of BF16 numbers. Internal to the
// kernels.
//
// Each input is the sum of two BF16 numbers, its value rounded and the rest, so that it keeps 16 bits of its
// fraction. The sums of a row depend on nothing but that row: one row or two run without tiles, in the order
// of the tiles. Numbers below 1e-36 lose their rest or count as 0, and a product with an infinite weight is
// NaN.
#pragma once
#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

/// Requires: `has_isa(isa::amx)`, weights of BF16, a row and an output.
void dense_amx(const dense_args& args);

}  // namespace troupe::kernels
