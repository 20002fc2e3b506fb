// Dot products of BF16 pairs: AVX-512 BF16, on top of the vectors of simd_avx512.hpp. Each adds two products
// to a sum in f32, and takes numbers below 1.2e-38 for 0.
#pragma once
#include "gpu/kernels/cpu/simd.hpp"

#ifdef __x86_64__
// clang-format off
#ifdef __clang__
#define TROUPE_BEGIN_AVX512_BF16 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\"))), apply_to = function)")
#else
#define TROUPE_BEGIN_AVX512_BF16 \
  _Pragma("GCC push_options")    \
      _Pragma("GCC target(\"avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\")")
#endif
// clang-format on

TROUPE_BEGIN_AVX512_BF16
namespace troupe::kernels::avx512_bf16 {

using namespace avx512;

inline constexpr int pair_lanes = 32;  ///< BF16 numbers of a vector: 16 pairs

struct pairs {
  __m512bh v;
};

TROUPE_SIMD pairs load_pairs(const void* p) {
  pairs x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
/// The first n numbers, and zeros.
TROUPE_SIMD pairs load_pairs_part(const void* p, int n) {
  return {(__m512bh)_mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), p)};
}
TROUPE_SIMD void store_pairs(void* p, pairs x) { std::memcpy(p, &x.v, sizeof x.v); }
/// The same pair in each lane.
TROUPE_SIMD pairs splat_pair(const void* p) {
  int both;
  std::memcpy(&both, p, sizeof both);
  return {(__m512bh)_mm512_set1_epi32(both)};
}
TROUPE_SIMD pairs no_pairs() { return {(__m512bh)_mm512_setzero_si512()}; }
/// Rounds 32 numbers.
TROUPE_SIMD pairs to_pairs(vec first, vec second) { return {_mm512_cvtne2ps_pbh(second.v, first.v)}; }
/// sum + the products of both numbers of each pair.
TROUPE_SIMD vec dot(pairs a, pairs b, vec sum) { return {_mm512_dpbf16_ps(sum.v, a.v, b.v)}; }

/// Two BF16 numbers for each of 32, which keep 16 bits of its fraction: the number rounded, and the rest.
struct split_numbers {
  pairs first, rest;
};
/// The rest of numbers, or 0 if they are rounded to infinity or NaN.
TROUPE_SIMD vec rest_of(vec x, __m256i rounded) {
  constexpr int nan_or_infinity = 0x99;
  const vec first = from_bf16(rounded);
  const auto finite = static_cast<__mmask16>(~_mm512_fpclass_ps_mask(first.v, nan_or_infinity));
  return {_mm512_maskz_sub_ps(finite, x.v, first.v)};
}
TROUPE_SIMD split_numbers split_pairs(vec x, vec y) {
  const pairs first = to_pairs(x, y);
  const auto bits = (__m512i)first.v;
  return {first,
          to_pairs(rest_of(x, _mm512_castsi512_si256(bits)), rest_of(y, _mm512_extracti64x4_epi64(bits, 1)))};
}

/// Pairs of a's and b's numbers: in each quarter those of its lower or of its upper half.
TROUPE_SIMD pairs interleave_lower(pairs a, pairs b) {
  return {(__m512bh)_mm512_unpacklo_epi16((__m512i)a.v, (__m512i)b.v)};
}
TROUPE_SIMD pairs interleave_upper(pairs a, pairs b) {
  return {(__m512bh)_mm512_unpackhi_epi16((__m512i)a.v, (__m512i)b.v)};
}
/// Numbers in the order of their pairs before interleaving: 0 to 15, and 16 to 31.
TROUPE_SIMD vec join_lower(vec lower, vec upper) {
  const __m512i from = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  return {_mm512_permutex2var_ps(lower.v, from, upper.v)};
}
TROUPE_SIMD vec join_upper(vec lower, vec upper) {
  const __m512i from = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  return {_mm512_permutex2var_ps(lower.v, from, upper.v)};
}

}  // namespace troupe::kernels::avx512_bf16
TROUPE_END_ISA
#endif
