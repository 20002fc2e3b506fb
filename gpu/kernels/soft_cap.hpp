// Soft capping of logits: x becomes cap * tanh(x / cap), as in Gemma 2.
#pragma once
#include <cstddef>

namespace troupe::kernels {

struct soft_cap_args {
  float* x = nullptr;  ///< [count], replaced
  size_t count = 0;
  float cap = 0;  ///< above 0
};

void soft_cap_reference(const soft_cap_args& args);
void soft_cap(const soft_cap_args& args);

}  // namespace troupe::kernels
