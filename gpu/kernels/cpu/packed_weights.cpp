#include <cstring>

#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

namespace {

/// Position of output c of 32 among a panel's 32 numbers of one input.
size_t place(element type, size_t c) { return type != element::bf16 ? c : c < 16 ? 2 * c : 2 * (c - 16) + 1; }

}  // namespace

packed_weights::packed_weights(const void* weights, element from, element type, size_t out, size_t in)
    : out_(out), in_(in), type_(type) {
  data_ = aligned_bytes(panels() * panel_bytes());
  if (data_.size() != 0) std::memset(data_.data(), 0, data_.size());
#pragma omp parallel for schedule(static)
  for (size_t p = 0; p < panels(); ++p) {
    std::byte* panel = data_.data() + p * panel_bytes();
    for (size_t c = 0; c < panel_outputs && p * panel_outputs + c < out; ++c) {
      const size_t first = (p * panel_outputs + c) * in, to = place(type, c);
      for (size_t k = 0; k < in; ++k)
        set_element(panel, type, k * panel_outputs + to, element_at(weights, from, first + k));
    }
  }
}

float packed_weights::at(size_t output, size_t input) const {
  return element_at(panel(output / panel_outputs), type_,
                    input * panel_outputs + place(type_, output % panel_outputs));
}

}  // namespace troupe::kernels
