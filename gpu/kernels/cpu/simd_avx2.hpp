// Eight lanes: AVX2 with FMA and F16C. Part of simd.hpp; simd_portable.hpp has the contracts.
#pragma once

TROUPE_BEGIN_AVX2
namespace troupe::kernels::avx2 {

inline constexpr int lanes = 8;
inline constexpr int dense_rows = 6;

struct vec {
  __m256 v;
};

TROUPE_SIMD vec splat(float x) { return {_mm256_set1_ps(x)}; }
TROUPE_SIMD vec operator+(vec a, vec b) { return {_mm256_add_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator-(vec a, vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator*(vec a, vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
TROUPE_SIMD vec operator/(vec a, vec b) { return {_mm256_div_ps(a.v, b.v)}; }
TROUPE_SIMD vec fma(vec a, vec b, vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
TROUPE_SIMD vec max(vec a, vec b) { return {_mm256_max_ps(a.v, b.v)}; }
TROUPE_SIMD vec min(vec a, vec b) { return {_mm256_min_ps(a.v, b.v)}; }
TROUPE_SIMD vec zero_below(vec y, vec x, vec limit) {
  return {_mm256_andnot_ps(_mm256_cmp_ps(x.v, limit.v, _CMP_LT_OQ), y.v)};
}
TROUPE_SIMD vec power_of_two(vec n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))};
}

TROUPE_SIMD __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
TROUPE_SIMD __m128i widest_part(const void* p, int n) {  // n numbers of 16 bits, then zeros
  alignas(16) uint16_t whole[8] = {};
  std::memcpy(whole, p, static_cast<size_t>(n) * sizeof(uint16_t));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(whole));
}
TROUPE_SIMD vec from_bf16(__m128i x) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16))};
}
TROUPE_SIMD __m128i to_bf16(vec x) {
  const __m256i bits = _mm256_castps_si256(x.v), top = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff)), 16);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q));
  const __m256i all = _mm256_blendv_epi8(rounded, _mm256_or_si256(top, _mm256_set1_epi32(0x40)), nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}
TROUPE_SIMD __m128i to_f16(vec x) { return _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT); }
TROUPE_SIMD __m128i whole16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
TROUPE_SIMD void store16(void* p, __m128i x, int n) {
  std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(uint16_t));
}

TROUPE_SIMD vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
TROUPE_SIMD vec load_part(const float* p, int n) { return {_mm256_maskload_ps(p, first_lanes(n))}; }
TROUPE_SIMD void store(float* p, vec x) { _mm256_storeu_ps(p, x.v); }
TROUPE_SIMD void store_part(float* p, vec x, int n) { _mm256_maskstore_ps(p, first_lanes(n), x.v); }
TROUPE_SIMD vec load(const half* p) { return {_mm256_cvtph_ps(whole16(p))}; }
TROUPE_SIMD vec load_part(const half* p, int n) { return {_mm256_cvtph_ps(widest_part(p, n))}; }
TROUPE_SIMD void store(half* p, vec x) { store16(p, to_f16(x), lanes); }
TROUPE_SIMD void store_part(half* p, vec x, int n) { store16(p, to_f16(x), n); }
TROUPE_SIMD vec load(const bfloat* p) { return from_bf16(whole16(p)); }
TROUPE_SIMD vec load_part(const bfloat* p, int n) { return from_bf16(widest_part(p, n)); }
TROUPE_SIMD void store(bfloat* p, vec x) { store16(p, to_bf16(x), lanes); }
TROUPE_SIMD void store_part(bfloat* p, vec x, int n) { store16(p, to_bf16(x), n); }
TROUPE_SIMD vec load_lower(const uint32_t* p) {
  return {
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), 16))};
}
TROUPE_SIMD vec load_upper(const uint32_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0xffff0000))))};
}

TROUPE_SIMD float sum(vec a) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
TROUPE_SIMD float largest(vec a) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
/// Of four vectors: the four sums of each half, in order.
TROUPE_SIMD __m256 sum_quarter(const vec* a) {
  const __m256 x = _mm256_add_ps(_mm256_unpacklo_ps(a[0].v, a[1].v), _mm256_unpackhi_ps(a[0].v, a[1].v));
  const __m256 y = _mm256_add_ps(_mm256_unpacklo_ps(a[2].v, a[3].v), _mm256_unpackhi_ps(a[2].v, a[3].v));
  const __m256d xd = _mm256_castps_pd(x), yd = _mm256_castps_pd(y);
  return _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(xd, yd)),
                       _mm256_castpd_ps(_mm256_unpackhi_pd(xd, yd)));
}
TROUPE_SIMD vec sum_each(const vec (&a)[lanes]) {
  const __m256 x = sum_quarter(a), y = sum_quarter(a + 4);
  return {_mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31))};
}
TROUPE_SIMD void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace troupe::kernels::avx2
TROUPE_END_ISA
