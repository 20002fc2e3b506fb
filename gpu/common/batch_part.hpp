// One request's share of a batch, as devices take it and models run it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Bytes in row-major order: each tensor with all rows of the part, one tensor after the other, in signature
/// order. Input and output belong to the caller and stay valid until the batch is done.
struct batch_part {
  uint32_t rows = 1;
  std::span<const std::byte> input;
  std::span<std::byte> output;
  /// Of a model with free dimensions, instead of `output`: it writes its outputs here, with their shapes
  /// (shaped_tensors.hpp), as `input` has them.
  std::vector<std::byte>* shaped_output = nullptr;
};

}  // namespace troupe
