#include "gpu/kernels/read_bandwidth.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/read_bandwidth_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

namespace {

constexpr size_t bytes_a_thread = size_t{1} << 20;  // bytes per piece

}  // namespace

read_bandwidth::read_bandwidth(size_t bytes)
    : buffer_(std::max<size_t>(1, bytes / bytes_a_thread) * bytes_a_thread) {
  std::memset(buffer_.data(), 0, buffer_.size());
}

double read_bandwidth::measure(const clock& c, size_t bytes) const {
  const auto read = TROUPE_PICK(read_floats);
  const size_t pieces = std::max<size_t>(1, bytes / bytes_a_thread), here = buffer_.size() / bytes_a_thread;
  float sum = 0;
  const auto start = c.now();
  // dynamic, as in `dense`
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (size_t i = 0; i < pieces; ++i)
    sum += read(reinterpret_cast<const float*>(buffer_.data() + i % here * bytes_a_thread),
                bytes_a_thread / sizeof(float));
  const auto took = c.now() - start;
  [[maybe_unused]] volatile float done = sum;
  return static_cast<double>(pieces * bytes_a_thread) / to_seconds(std::max(took, duration{1}));
}

}  // namespace troupe::kernels
