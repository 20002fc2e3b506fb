// Macros and types of kernel code, for nvcc and for a plain C++ compiler alike.
//
// A kernel is a struct: its members are the arguments, `operator()(Thread)` is the code of one thread.
// `Thread` is its only interface to the machine: cuda_thread (cuda_thread.cuh) on a GPU, and the tests'
// emulator (tests/gpu/kernels/cuda/emulator.hpp), which has the same members, elsewhere.
//
//   struct negate {
//     static constexpr uint32_t threads = 128;  // of a block
//     static constexpr uint32_t cluster = 1;    // blocks of a cluster
//     size_t shared_bytes() const { return 0; } // of a block, dynamic
//     float* x;
//     template <class Thread>
//     TROUPE_DEVICE void operator()(Thread t) const { x[t.block() * threads + t.index()] *= -1; }
//   };
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/common/element.hpp"

#ifdef __CUDACC__
#define TROUPE_DEVICE __device__ __forceinline__
#define TROUPE_BOTH __host__ __device__ __forceinline__
#define TROUPE_UNROLL _Pragma("unroll")
#else
#define TROUPE_DEVICE inline
#define TROUPE_BOTH inline
#define TROUPE_UNROLL
#endif

namespace troupe::cuda {

/// 16 bytes, the largest access of a thread: eight numbers of 16 bits.
struct alignas(16) vec16 {
  uint32_t word[4];
};

struct float_pair {
  float low, high;
};

/// Number of blocks (not clusters) of a launch; x is a multiple of the kernel's `cluster`.
struct grid_size {
  uint32_t x = 1, y = 1, z = 1;
};

template <class T>
TROUPE_BOTH constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
TROUPE_BOTH constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}
template <class T>
TROUPE_BOTH constexpr T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
TROUPE_BOTH constexpr T larger(T a, T b) {
  return a < b ? b : a;
}
/// One instruction for floats. If one is NaN, the result is the other.
TROUPE_BOTH float larger(float a, float b) { return fmaxf(a, b); }

}  // namespace troupe::cuda
