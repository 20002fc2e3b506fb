// Four lanes, for every processor. Part of simd.hpp. `fma` rounds twice here.
#pragma once

namespace troupe::kernels::portable {

inline constexpr int lanes = 4;
inline constexpr int dense_rows = 4;  ///< rows of a tile whose sums fit into the registers

typedef float float_lanes __attribute__((vector_size(16)));
typedef int32_t int_lanes __attribute__((vector_size(16)));
struct vec {
  float_lanes v;
};

TROUPE_SIMD vec splat(float x) { return {float_lanes{x, x, x, x}}; }
TROUPE_SIMD vec operator+(vec a, vec b) { return {a.v + b.v}; }
TROUPE_SIMD vec operator-(vec a, vec b) { return {a.v - b.v}; }
TROUPE_SIMD vec operator*(vec a, vec b) { return {a.v * b.v}; }
TROUPE_SIMD vec operator/(vec a, vec b) { return {a.v / b.v}; }
TROUPE_SIMD vec fma(vec a, vec b, vec c) { return {a.v * b.v + c.v}; }
/// The second where either is NaN, as on x86.
TROUPE_SIMD vec max(vec a, vec b) { return {a.v > b.v ? a.v : b.v}; }
TROUPE_SIMD vec min(vec a, vec b) { return {a.v < b.v ? a.v : b.v}; }
/// y, or 0 where x < limit.
TROUPE_SIMD vec zero_below(vec y, vec x, vec limit) { return {x.v < limit.v ? float_lanes{} : y.v}; }
/// 2^n of integers n in -126..127.
TROUPE_SIMD vec power_of_two(vec n) {
  const int_lanes bits = (__builtin_convertvector(n.v, int_lanes) + 127) << 23;
  return {std::bit_cast<float_lanes>(bits)};
}

TROUPE_SIMD vec load(const float* p) {
  vec x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
TROUPE_SIMD vec load_part(const float* p, int n) {
  vec x = splat(0);
  std::memcpy(&x, p, static_cast<size_t>(n) * sizeof(float));
  return x;
}
TROUPE_SIMD void store(float* p, vec x) { std::memcpy(p, &x, sizeof x); }
TROUPE_SIMD void store_part(float* p, vec x, int n) {
  std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(float));
}

TROUPE_SIMD vec load_part(const half* p, int n) {
  vec x = splat(0);
  for (int i = 0; i < n; ++i) x.v[i] = static_cast<float>(p[i]);
  return x;
}
TROUPE_SIMD vec load(const half* p) { return load_part(p, lanes); }
TROUPE_SIMD vec load_part(const bfloat* p, int n) {
  vec x = splat(0);
  for (int i = 0; i < n; ++i) x.v[i] = static_cast<float>(p[i]);
  return x;
}
TROUPE_SIMD vec load(const bfloat* p) { return load_part(p, lanes); }
template <class T>
TROUPE_SIMD void store_part(T* p, vec x, int n) {
  for (int i = 0; i < n; ++i) p[i] = T(x.v[i]);
}
template <class T>
TROUPE_SIMD void store(T* p, vec x) {
  store_part(p, x, lanes);
}

/// The BF16 numbers in the lower halves of 32 bits each, and in the upper halves.
TROUPE_SIMD vec load_lower(const uint32_t* p) {
  int_lanes bits;
  std::memcpy(&bits, p, sizeof bits);
  const int_lanes l = bits << 16;
  return {std::bit_cast<float_lanes>(l)};
}
TROUPE_SIMD vec load_upper(const uint32_t* p) {
  int_lanes bits;
  std::memcpy(&bits, p, sizeof bits);
  const int_lanes h = bits & static_cast<int32_t>(0xffff0000);
  return {std::bit_cast<float_lanes>(h)};
}

TROUPE_SIMD float sum(vec a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
TROUPE_SIMD float largest(vec a) {
  const float x = a.v[0] > a.v[2] ? a.v[0] : a.v[2], y = a.v[1] > a.v[3] ? a.v[1] : a.v[3];
  return x > y ? x : y;
}
/// Lane i of the result is the sum over a[i], added in a fixed order.
TROUPE_SIMD vec sum_each(const vec (&a)[lanes]) {
  return {float_lanes{sum(a[0]), sum(a[1]), sum(a[2]), sum(a[3])}};
}
TROUPE_SIMD void prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace troupe::kernels::portable
