// Dense layer: y = x W^T (+ bias), with packed weights.
//
// Each number of y is one sum in one order, independent of the number of rows and threads: over k = 0, 1, 2
// ...; with BF16 weights and AVX-512 BF16 over pairs of inputs, which are rounded to BF16
// (cpu/dense_bf16.hpp), and with AMX over the products of 32 inputs' first parts and then of their second
// parts (cpu/dense_amx.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/aligned_bytes.hpp"
#include "gpu/common/element.hpp"

namespace troupe::kernels {

/// A weight matrix [out, in] in panels of 32 outputs: [panel][in][32], the last one padded with zeros. BF16
/// panels are [in / 2][32][2] with pairs of inputs, as AMX takes them, and the inputs are padded with zeros
/// to a multiple of 32. Movable.
class packed_weights {
 public:
  static constexpr size_t panel_outputs = 32;

  packed_weights() = default;
  /// `weights`: [out, in], row-major, of type `from`. Stored as `type`, rounded to nearest, in memory of its
  /// own.
  packed_weights(const void* weights, element from, element type, size_t out, size_t in);
  /// Panels in memory that outlives this: `bytes()` of it, aligned to 64.
  packed_weights(const std::byte* panels, element type, size_t out, size_t in)
      : data_(panels), out_(out), in_(in), type_(type) {}

  element type() const { return type_; }
  size_t out() const { return out_; }
  size_t in() const { return in_; }
  /// Inputs with their padding.
  size_t padded_in() const { return type_ == element::bf16 ? (in_ + 31) / 32 * 32 : in_; }
  size_t panels() const { return (out_ + panel_outputs - 1) / panel_outputs; }
  size_t panel_bytes() const { return padded_in() * panel_outputs * element_bytes(type_); }
  size_t bytes() const { return panels() * panel_bytes(); }
  const std::byte* panel(size_t index) const { return data_ + index * panel_bytes(); }
  /// The weight of one output and one input.
  float at(size_t output, size_t input) const;

 private:
  aligned_bytes own_;
  const std::byte* data_ = nullptr;
  size_t out_ = 0, in_ = 0;
  element type_ = element::f32;
};

struct dense_args {
  const float* x = nullptr;           ///< [rows, in]
  size_t x_stride = 0;                ///< floats from row to row, at least `in`
  const packed_weights* w = nullptr;  ///< [out, in]
  const float* bias = nullptr;        ///< [out], or null
  float* y = nullptr;                 ///< [rows, out], written; does not overlap x
  size_t y_stride = 0;                ///< floats from row to row, at least `out`
  size_t rows = 0;
};

void dense_reference(const dense_args& args);
void dense(const dense_args& args);

}  // namespace troupe::kernels
