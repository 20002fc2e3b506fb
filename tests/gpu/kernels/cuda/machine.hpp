// The machine for the tests of gpu/kernels/cuda/: a GPU if nvcc compiles them, the emulator otherwise.
#pragma once
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpu/kernels/cuda/device_code.hpp"
#ifdef __CUDACC__
#include "gpu/kernels/cuda/launch.cuh"
#else
#include "tests/gpu/kernels/cuda/emulator.hpp"
#endif

namespace troupe::cuda {

/// n numbers accessible to a kernel and the test. They, and the guards before and behind them, are all bits
/// set (NaN) at first.
template <class T>
class shared_array {
 public:
  explicit shared_array(size_t n) : n_(n), bytes_(n * sizeof(T) + 2 * guard) {
#ifdef __CUDACC__
    check(cudaMallocManaged(&memory_, bytes_), "memory of a test");
#else
    memory_ = static_cast<std::byte*>(std::aligned_alloc(guard, (bytes_ + guard - 1) / guard * guard));
#endif
    std::memset(memory_, 0xff, bytes_);
  }
  explicit shared_array(const std::vector<T>& values) : shared_array(values.size()) {
    for (size_t i = 0; i < n_; ++i) (*this)[i] = values[i];
  }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  shared_array(shared_array&& other) noexcept
      : n_(other.n_), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}
  ~shared_array() {
#ifdef __CUDACC__
    cudaFree(memory_);
#else
    std::free(memory_);
#endif
  }

  T* data() { return reinterpret_cast<T*>(memory_ + guard); }
  const T* data() const { return reinterpret_cast<const T*>(memory_ + guard); }
  size_t size() const { return n_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + n_}; }
  /// Whether no guard was overwritten.
  bool intact() const {
    for (size_t i = 0; i < bytes_; ++i)
      if ((i < guard || i >= guard + n_ * sizeof(T)) && memory_[i] != std::byte{0xff}) return false;
    return true;
  }

 private:
  static constexpr size_t guard = 256;
  size_t n_, bytes_;
  std::byte* memory_ = nullptr;
};

/// 16-bit numbers of one type, in the representation of kernels.
struct number_array : shared_array<uint16_t> {
  number_array(element t, size_t n) : shared_array(n), type(t) {}
  float at(size_t i) const { return element_at(data(), type, i); }
  void set(size_t i, float x) { set_element(data(), type, i, x); }
  element type;
};

/// Uniform in -1 .. 1, rounded to the type.
inline number_array random_numbers(element type, size_t n, std::mt19937& random) {
  number_array a(type, n);
  for (size_t i = 0; i < n; ++i) a.set(i, static_cast<float>(random() % 20001) / 10000 - 1);
  return a;
}

/// For messages.
inline const char* name_of(element type) {
  return type == element::bf16 ? "bf16" : type == element::f16 ? "f16" : "f32";
}

constexpr element short_elements[] = {element::f16, element::bf16};

/// Number of thread orders to run; a GPU has only its own.
#ifdef __CUDACC__
constexpr uint32_t orders = 1;
#else
constexpr uint32_t orders = 4;
#endif

/// Returns when the kernel has ended; throws if it failed.
template <class Kernel>
void run_kernel(const Kernel& kernel, grid_size grid, uint32_t order = 0) {
#ifdef __CUDACC__
  static_cast<void>(order);
  if (Kernel::cluster > 1 && !runs_sm90_code())
    throw std::runtime_error("this GPU runs no code with clusters");
  launch(kernel, grid, nullptr);
  check(cudaDeviceSynchronize(), "a kernel");
#else
  emulate(kernel, grid, order);
#endif
}

}  // namespace troupe::cuda
