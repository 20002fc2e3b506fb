// The instruction set of the kernels on this processor: the best that it has, chosen once. A binary has up to
// three versions of each kernel. Dense layers with BF16 weights have two more: for AMX one that keeps 16 bits
// of each input's fraction, and for AVX-512 BF16 one that keeps 8; attention to a BF16 cache has one for
// AVX-512 BF16 that keeps 16. TROUPE_ISA in the environment names a lesser one. Results of the others may
// differ in the last bits between versions, never within one.
#pragma once
#include <cstdint>

namespace troupe::kernels {

enum class isa : uint8_t { portable, avx2, avx512, avx512_bf16, amx };

/// AVX2 stands for AVX2, FMA and F16C; AVX-512 for F, BW, DQ and VL; AVX-512 BF16 for these and dot products
/// of BF16; AMX for AVX-512 and tiles of BF16, which the system lets this process use. Kernels without a
/// version for AVX-512 BF16 or AMX run that for AVX-512.
bool has_isa(isa version);
isa current_isa();
/// For tests and comparisons: sets the version for all threads. Requires: `has_isa(version)`; no kernel is
/// running.
void use_isa(isa version);

}  // namespace troupe::kernels
