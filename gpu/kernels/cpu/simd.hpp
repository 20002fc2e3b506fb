// SIMD vectors of the CPU kernels: a few float operations for each instruction set, in a namespace of its own
// (portable, avx2, avx512). The inner loops of a kernel are in a file `<op>_simd.inc`, which each_isa.inc
// includes into each of these namespaces; they name no instruction set. Only `fma` fuses a multiplication and
// an addition (the library is built with -ffp-contract=off), so that every path gives the same numbers. Inner
// loops must not use lambdas, which would lose the instruction set.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/common/element.hpp"
#include "gpu/kernels/cpu/isa.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define TROUPE_SIMD [[gnu::always_inline]] inline
#define TROUPE_TILE [[gnu::noinline]]  // not inlined: many tiles in one function take minutes to compile

#ifdef __clang__
// clang-format off
#define TROUPE_BEGIN_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\"))), apply_to = function)")
// clang-format on
#define TROUPE_BEGIN_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,f16c\"))), apply_to = function)")
#define TROUPE_END_ISA _Pragma("clang attribute pop")
#else
#define TROUPE_BEGIN_AVX512 \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\")")
#define TROUPE_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,f16c\")")
#define TROUPE_END_ISA _Pragma("GCC pop_options")
#endif

#include "gpu/kernels/cpu/simd_portable.hpp"
#ifdef __x86_64__
#include "gpu/kernels/cpu/simd_avx2.hpp"
#include "gpu/kernels/cpu/simd_avx512.hpp"
#endif

#define TROUPE_ISA_BODY "gpu/kernels/cpu/simd_common.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

/// TROUPE_PICK(function): the version of it for this processor.
#ifdef __x86_64__
template <class F>
F* pick(F* portable, F* avx2, F* avx512) {
  const isa version = current_isa();
  return version >= isa::avx512 ? avx512 : version == isa::avx2 ? avx2 : portable;
}
#define TROUPE_PICK(function) pick(portable::function, avx2::function, avx512::function)
#else
#define TROUPE_PICK(function) (&portable::function)
#endif

}  // namespace troupe::kernels
