// Helpers for the tests of the kernels: arrays with guards that detect out-of-bounds access, and runs with
// every instruction set.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "gpu/common/element.hpp"
#include "gpu/kernels/cpu/isa.hpp"
#include "tests/gpu/kernels/cpu/with_threads.hpp"

namespace troupe::kernels {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// n numbers at an unaligned address, with NaN before and behind them, of any element type.
class guarded {
 public:
  explicit guarded(size_t n, element type = element::f32)
      : type_(type), n_(n), data_((n + 2 * guard) * 4, std::byte{0xff}) {}

  void* data() { return data_.data() + guard * element_bytes(type_); }
  const void* data() const { return const_cast<guarded*>(this)->data(); }
  float* floats() { return static_cast<float*>(data()); }
  const float* floats() const { return static_cast<const float*>(data()); }
  float at(size_t i) const { return element_at(data(), type_, i); }
  void set(size_t i, float x) { set_element(data(), type_, i, x); }
  size_t size() const { return n_; }
  element type() const { return type_; }
  /// Whether no guard was overwritten.
  bool intact() const {
    for (size_t i = 0; i < data_.size(); ++i) {
      const bool inside = i >= guard * element_bytes(type_) && i < (guard + n_) * element_bytes(type_);
      if (!inside && data_[i] != std::byte{0xff}) return false;
    }
    return true;
  }

 private:
  static constexpr size_t guard = 67;  // all bits set: NaN in each type; odd: unaligned
  element type_;
  size_t n_;
  std::vector<std::byte> data_;
};

/// Uniform in -1 .. 1.
inline guarded random_numbers(size_t n, std::mt19937& random, element type = element::f32) {
  guarded g(n, type);
  for (size_t i = 0; i < n; ++i) g.set(i, static_cast<float>(random() % 20001) / 10000 - 1);
  return g;
}

inline uint32_t below(uint32_t n, std::mt19937& random) { return random() % n; }

/// Bitwise equality; all NaNs are equal.
inline bool same_bits(const float* a, const float* b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  }
  return true;
}

/// The largest |a - b|; infinite between NaN and a number.
inline double distance(const float* a, const float* b, size_t n) {
  double max = 0;
  for (size_t i = 0; i < n; ++i) {
    const double d = std::abs(double{a[i]} - b[i]);
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    if (d > max) max = d;
  }
  return max;
}

/// Runs f with every instruction set that the processor has.
template <class F>
void with_each_isa(F f) {
  const isa best = current_isa();
  for (const isa version : {isa::portable, isa::avx2, isa::avx512, isa::avx512_bf16, isa::amx}) {
    if (!has_isa(version)) continue;
    use_isa(version);
    f();
  }
  use_isa(best);
}

constexpr element all_elements[] = {element::f32, element::f16, element::bf16};

}  // namespace troupe::kernels
