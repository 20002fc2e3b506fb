#include "gpu/kernels/cpu/isa.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace troupe::kernels {

namespace {

#ifdef __x86_64__
/// Asks the system for the state of tiles, once for all threads of the process.
bool may_use_tiles() {
  constexpr unsigned bf16 = 1u << 22, tiles = 1u << 24;  // of leaf 7's EDX
  constexpr long request = 0x1023, tile_data = 18;       // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & bf16) == 0 || (d & tiles) == 0) return false;
  return ::syscall(SYS_arch_prctl, request, tile_data) == 0;
}
#endif

}  // namespace

bool has_isa(isa version) {
#ifdef __x86_64__
  switch (version) {
    case isa::amx: {
      static const bool tiles = may_use_tiles();
      return tiles && has_isa(isa::avx512);
    }
    case isa::avx512_bf16: return has_isa(isa::avx512) && __builtin_cpu_supports("avx512bf16");
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

/// The best that the processor has and TROUPE_ISA allows. Other values of it count as none.
isa best_isa() {
  constexpr std::array<std::pair<std::string_view, isa>, 5> from_best{{{"amx", isa::amx},
                                                                       {"avx512_bf16", isa::avx512_bf16},
                                                                       {"avx512", isa::avx512},
                                                                       {"avx2", isa::avx2},
                                                                       {"portable", isa::portable}}};
  const char* named = std::getenv("TROUPE_ISA");
  bool allowed =
      named == nullptr ||
      std::ranges::find(from_best, named, &decltype(from_best)::value_type::first) == from_best.end();
  for (const auto& [name, version] : from_best) {
    allowed = allowed || name == named;
    if (allowed && has_isa(version)) return version;
  }
  return isa::portable;
}

std::atomic<isa>& chosen() {
  static std::atomic<isa> version = best_isa();
  return version;
}

}  // namespace

isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void use_isa(isa version) {
  assert(has_isa(version));
  chosen().store(version, std::memory_order_relaxed);
}

}  // namespace troupe::kernels
