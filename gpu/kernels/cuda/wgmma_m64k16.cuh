// The instruction wgmma.mma_async (sm_90a) for cuda_thread::wgmma_mma_async. Its forms differ only in the
// number of registers, which a template cannot express.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// Descriptor of the second operand: a matrix in shared memory with rows of 128 bytes and 128-byte swizzle.
/// Eight rows are 1024 bytes (the stride offset). The address is a multiple of 1024, plus steps along a row.
/// `panel`: bytes to the next 64 columns of a transposed operand (the leading dimension offset).
TROUPE_DEVICE uint64_t swizzled_smem_descriptor(uint32_t address, uint32_t panel) {
  constexpr uint64_t stride = uint64_t{1024 / 16} << 32, swizzle_128 = uint64_t{1} << 62;
  return (address & 0x3ffff) >> 4 | uint64_t{panel / 16} << 16 | stride | swizzle_128;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TROUPE_FOUR(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define TROUPE_32(i)                                                                              \
  TROUPE_FOUR(i), TROUPE_FOUR(i + 1), TROUPE_FOUR(i + 2), TROUPE_FOUR(i + 3), TROUPE_FOUR(i + 4), \
      TROUPE_FOUR(i + 5), TROUPE_FOUR(i + 6), TROUPE_FOUR(i + 7)
#define TROUPE_NAMES_32                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TROUPE_NAMES_64                                                                \
  TROUPE_NAMES_32                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TROUPE_OPERANDS \
  "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)), "n"(Transposed ? 1 : 0)
#define TROUPE_WGMMA_64(type)                                                          \
  asm volatile(                                                                        \
      "{.reg .pred p; setp.ne.b32 p, %37, 0;"                                          \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" TROUPE_NAMES_32 \
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, %38;}"                                   \
      : TROUPE_32(0)                                                                   \
      : TROUPE_OPERANDS                                                                \
      : "memory")
#define TROUPE_WGMMA_128(type)                                                          \
  asm volatile(                                                                         \
      "{.reg .pred p; setp.ne.b32 p, %69, 0;"                                           \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" TROUPE_NAMES_64 \
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, %70;}"                                    \
      : TROUPE_32(0), TROUPE_32(8)                                                      \
      : TROUPE_OPERANDS                                                                 \
      : "memory")
#endif

/// d += a b, or d = a b without `add`. 64 or 128 columns, eight to a block.
template <element E, bool Transposed, uint32_t Blocks>
TROUPE_DEVICE void wgmma_m64k16(float (&d)[Blocks][4], const uint32_t (&a)[4], uint64_t b, bool add) {
  static_assert(Blocks == 8 || Blocks == 16);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (Blocks == 8 && E == element::bf16)
    TROUPE_WGMMA_64("bf16");
  else if constexpr (Blocks == 8)
    TROUPE_WGMMA_64("f16");
  else if constexpr (E == element::bf16)
    TROUPE_WGMMA_128("bf16");
  else
    TROUPE_WGMMA_128("f16");
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#undef TROUPE_FOUR
#undef TROUPE_32
#undef TROUPE_NAMES_32
#undef TROUPE_NAMES_64
#undef TROUPE_OPERANDS
#undef TROUPE_WGMMA_64
#undef TROUPE_WGMMA_128
#endif

}  // namespace troupe::cuda
