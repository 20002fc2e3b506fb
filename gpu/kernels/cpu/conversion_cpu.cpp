#include <cstring>

#include "gpu/kernels/conversion.hpp"
#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/conversion_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void conversion(const conversion_args& a) {
  if (a.count == 0) return;
  if (a.from_type == a.to_type) {
    std::memcpy(a.to, a.from, a.count * element_bytes(a.to_type));
    return;
  }
  TROUPE_PICK(convert_numbers)(a.from, a.from_type, a.to, a.to_type, a.count);
}

}  // namespace troupe::kernels
