// Sixteen lanes: AVX-512 F, BW, DQ and VL. Part of simd.hpp; simd_portable.hpp has the contracts.
#pragma once

TROUPE_BEGIN_AVX512
namespace troupe::kernels::avx512 {

inline constexpr int lanes = 16;
inline constexpr int dense_rows = 12;

struct vec {
  __m512 v;
};

TROUPE_SIMD vec splat(float x) { return {_mm512_set1_ps(x)}; }
TROUPE_SIMD vec operator+(vec a, vec b) { return {_mm512_add_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator-(vec a, vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator*(vec a, vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator/(vec a, vec b) { return {_mm512_div_ps(a.v, b.v)}; }
TROUPE_SIMD vec fma(vec a, vec b, vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
TROUPE_SIMD vec max(vec a, vec b) { return {_mm512_max_ps(a.v, b.v)}; }
TROUPE_SIMD vec min(vec a, vec b) { return {_mm512_min_ps(a.v, b.v)}; }
TROUPE_SIMD vec zero_below(vec y, vec x, vec limit) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, limit.v, _CMP_NLT_UQ), y.v)};
}
TROUPE_SIMD vec power_of_two(vec n) {
  const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
}

TROUPE_SIMD __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1U << n) - 1); }
TROUPE_SIMD vec from_bf16(__m256i x) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16))};
}
TROUPE_SIMD __m256i to_bf16(vec x) {
  const __m512i bits = _mm512_castps_si512(x.v), top = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, top, _mm512_set1_epi32(0x40)));
}
TROUPE_SIMD vec from_f16(__m256i x) { return {_mm512_cvtph_ps(x)}; }
TROUPE_SIMD __m256i to_f16(vec x) { return _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT); }
TROUPE_SIMD __m256i whole16(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
TROUPE_SIMD __m256i part16(const void* p, int n) { return _mm256_maskz_loadu_epi16(first_lanes(n), p); }

TROUPE_SIMD vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
TROUPE_SIMD vec load_part(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
TROUPE_SIMD void store(float* p, vec x) { _mm512_storeu_ps(p, x.v); }
TROUPE_SIMD void store_part(float* p, vec x, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), x.v); }
TROUPE_SIMD vec load(const half* p) { return from_f16(whole16(p)); }
TROUPE_SIMD vec load_part(const half* p, int n) { return from_f16(part16(p, n)); }
TROUPE_SIMD void store(half* p, vec x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_f16(x)); }
TROUPE_SIMD void store_part(half* p, vec x, int n) { _mm256_mask_storeu_epi16(p, first_lanes(n), to_f16(x)); }
TROUPE_SIMD vec load(const bfloat* p) { return from_bf16(whole16(p)); }
TROUPE_SIMD vec load_part(const bfloat* p, int n) { return from_bf16(part16(p, n)); }
TROUPE_SIMD void store(bfloat* p, vec x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16(x)); }
TROUPE_SIMD void store_part(bfloat* p, vec x, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), to_bf16(x));
}
TROUPE_SIMD vec load_lower(const uint32_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16))};
}
TROUPE_SIMD vec load_upper(const uint32_t* p) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), upper))};
}

/// The second half of the lanes.
TROUPE_SIMD __m256 upper(vec a) { return _mm512_extractf32x8_ps(a.v, 1); }
TROUPE_SIMD float sum(vec a) {
  const __m256 x = _mm256_add_ps(_mm512_castps512_ps256(a.v), upper(a));
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}
TROUPE_SIMD float largest(vec a) {
  const __m256 x = _mm256_max_ps(_mm512_castps512_ps256(a.v), upper(a));
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
/// Of two vectors: partial sums of both, interleaved in each quarter.
TROUPE_SIMD __m512 sum_pair(vec a, vec b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a.v, b.v), _mm512_unpackhi_ps(a.v, b.v));
}
/// Of four vectors: the four sums of each quarter, in order.
TROUPE_SIMD __m512 sum_quarter(const vec* a) {
  const __m512d x = _mm512_castps_pd(sum_pair(a[0], a[1])), y = _mm512_castps_pd(sum_pair(a[2], a[3]));
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}
TROUPE_SIMD __m512 join_quarters(__m512 x, __m512 y) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd));
}
TROUPE_SIMD vec sum_each(const vec (&a)[lanes]) {
  return {join_quarters(join_quarters(sum_quarter(a), sum_quarter(a + 4)),
                        join_quarters(sum_quarter(a + 8), sum_quarter(a + 12)))};
}
TROUPE_SIMD void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace troupe::kernels::avx512
TROUPE_END_ISA
