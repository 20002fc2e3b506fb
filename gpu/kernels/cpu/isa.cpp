#include "gpu/kernels/cpu/isa.hpp"

#include <atomic>
#include <cassert>

namespace troupe::kernels {

bool has_isa(isa version) {
#ifdef __x86_64__
  switch (version) {
    case isa::avx512:
      return has_isa(isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c");
    default: return true;
  }
#else
  return version == isa::portable;
#endif
}

namespace {

std::atomic<isa>& chosen() {
  static std::atomic<isa> version = has_isa(isa::avx512) ? isa::avx512
                                    : has_isa(isa::avx2) ? isa::avx2
                                                         : isa::portable;
  return version;
}

}  // namespace

isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void use_isa(isa version) {
  assert(has_isa(version));
  chosen().store(version, std::memory_order_relaxed);
}

}  // namespace troupe::kernels
