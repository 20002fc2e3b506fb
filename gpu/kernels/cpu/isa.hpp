// Which instructions the kernels use on this processor: the best it has, chosen once. Kernels exist in up to
// three versions in one binary; results may differ in the last bits between them, never within one.
#pragma once
#include <cstdint>

namespace troupe::kernels {

enum class isa : uint8_t { portable, avx2, avx512 };

/// AVX2 stands for AVX2, FMA and F16C; AVX-512 for F, BW, DQ and VL.
bool has_isa(isa version);
isa current_isa();
/// For tests and comparisons: from now on, in all threads. Requires: `has_isa(version)`, no kernel is
/// running.
void use_isa(isa version);

}  // namespace troupe::kernels
