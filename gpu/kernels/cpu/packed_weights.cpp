#include <utility>

#include "gpu/kernels/dense.hpp"
#include "gpu/kernels/weight_blocks.hpp"

namespace troupe::kernels {

namespace {

/// Position of output c of a panel's 32 and input k among the panel's numbers.
size_t place(element type, size_t c, size_t k) {
  constexpr size_t width = packed_weights::panel_outputs;
  return type == element::bf16 ? (k / 2 * width + c) * 2 + k % 2 : k * width + c;
}

}  // namespace

packed_weights::packed_weights(const void* weights, element from, element type, size_t out, size_t in)
    : out_(out), in_(in), type_(type) {
  own_ = aligned_bytes(bytes());
  data_ = own_.data();
  const weight_blocks blocks({{weights, from, out}}, type, in);
#pragma omp parallel for schedule(static)
  for (size_t b = 0; b < blocks.count(); ++b) blocks.make(b, own_.data() + blocks.offset(b));
}

float packed_weights::at(size_t output, size_t input) const {
  return element_at(panel(output / panel_outputs), type_, place(type_, output % panel_outputs, input));
}

}  // namespace troupe::kernels
