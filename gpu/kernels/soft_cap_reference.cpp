#include "gpu/kernels/soft_cap.hpp"

#include <cmath>

namespace troupe::kernels {

void soft_cap_reference(const soft_cap_args& a) {
  for (size_t i = 0; i < a.count; ++i) a.x[i] = static_cast<float>(a.cap * std::tanh(double{a.x[i]} / a.cap));
}

}  // namespace troupe::kernels
