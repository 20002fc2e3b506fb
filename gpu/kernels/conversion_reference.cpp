#include "gpu/kernels/conversion.hpp"

namespace troupe::kernels {

void conversion_reference(const conversion_args& a) {
  for (size_t i = 0; i < a.count; ++i) set_element(a.to, a.to_type, i, element_at(a.from, a.from_type, i));
}

}  // namespace troupe::kernels
