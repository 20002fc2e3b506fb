#include <cstring>

#include "gpu/kernels/dense.hpp"

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
  data_ = aligned_bytes(panels() * panel_bytes());
  if (data_.size() != 0) std::memset(data_.data(), 0, data_.size());
#pragma omp parallel for schedule(static)
  for (size_t p = 0; p < panels(); ++p) {
    std::byte* panel = data_.data() + p * panel_bytes();
    for (size_t c = 0; c < panel_outputs && p * panel_outputs + c < out; ++c) {
      const size_t first = (p * panel_outputs + c) * in;
      for (size_t k = 0; k < in; ++k)
        set_element(panel, type, place(type, c, k), element_at(weights, from, first + k));
    }
  }
}

float packed_weights::at(size_t output, size_t input) const {
  return element_at(panel(output / panel_outputs), type_, place(type_, output % panel_outputs, input));
}

}  // namespace troupe::kernels
