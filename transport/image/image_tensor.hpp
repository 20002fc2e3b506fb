// Tensors from image files: decoded, resized, cropped and normalised as an image_input says.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "messages/tensor/image_input.hpp"
#include "messages/tensor/tensor.hpp"
#include "transport/image/image.hpp"

namespace troupe {

/// Index of its input in the signature; nothing: there is none, or several without a name.
std::optional<size_t> index_of(const image_input& input, const model_signature& signature);

/// Why images cannot be made into the model's input, with both types or shapes; empty: they can.
std::string image_input_problem(const image_input& input, const model_signature& signature);

/// Makes rows of an input. Immutable, so threads may share it.
class image_tensor {
 public:
  /// `type`: fp32 or uint8.
  image_tensor(image_input input, data_type type);

  uint64_t row_bytes() const;
  /// `row`: of `row_bytes`, any alignment. Throws image_error.
  void write(std::span<const std::byte> file, std::span<std::byte> row) const;

 private:
  image_input input_;
  data_type type_;
  std::array<std::array<float, 256>, 3> normalised_;  // by channel and 8-bit value
};

}  // namespace troupe
