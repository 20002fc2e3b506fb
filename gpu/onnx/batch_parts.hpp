// A batch's parts against the tensors of a model: a part holds its tensors one after the other, a model each
// tensor with all the batch's rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "gpu/common/batch_part.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

/// Throws model_error, naming the model's file, unless their rows add up to `rows` and each is as large as
/// the signature says.
void check_parts(const model_signature& s, const std::string& file, uint32_t rows,
                 std::span<const batch_part> parts);

/// `to(i)`: where the model's input i begins.
template <class To>
void gather_inputs(const model_signature& s, std::span<const batch_part> parts, const To& to) {
  size_t first_row = 0;
  for (const auto& part : parts) {
    const std::byte* from = part.input.data();
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      const size_t row = row_bytes(s.inputs[i]);
      std::memcpy(to(i) + first_row * row, from, part.rows * row);
      from += part.rows * row;
    }
    first_row += part.rows;
  }
}

/// `from(i)`: where the model's output i begins.
template <class From>
void scatter_outputs(const model_signature& s, const From& from, std::span<const batch_part> parts) {
  size_t first_row = 0;
  for (const auto& part : parts) {
    std::byte* to = part.output.data();
    for (size_t i = 0; i < s.outputs.size(); ++i) {
      const size_t row = row_bytes(s.outputs[i]);
      std::memcpy(to, from(i) + first_row * row, part.rows * row);
      to += part.rows * row;
    }
    first_row += part.rows;
  }
}

}  // namespace troupe::onnx
