// Dense tensors with shared, immutable memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/common/aligned_bytes.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

using shape = std::vector<int64_t>;

/// Limit of a tensor's size, so that a damaged file gives an error message and does not exhaust the memory.
inline constexpr int64_t max_tensor_bytes = int64_t{1} << 33;
inline constexpr size_t max_rank = 8;

/// Product of the dimensions; -1 if one is negative, the rank is above `max_rank`, or a tensor of 8-byte
/// elements would exceed `max_tensor_bytes`.
int64_t element_count(std::span<const int64_t> dims);
std::string to_string(const shape& dims);  ///< "[2, 3]"

/// Concatenates two shapes.
shape joined(std::span<const int64_t> front, std::span<const int64_t> back);

/// Row-major strides in elements.
shape strides_of(std::span<const int64_t> dims);

/// An immutable tensor in plain (row-major) layout; copies share the memory.
struct tensor {
  data_type type = data_type::fp32;
  shape dims;
  std::shared_ptr<const aligned_bytes> data;

  int64_t elements() const { return element_count(dims); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(type); }

  /// Requires: T has the size of `type`.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data->data()), static_cast<size_t>(elements())};
  }
};

/// Copies `bytes`. Requires: their size is that of type and dims.
tensor make_tensor(data_type type, shape dims, std::span<const std::byte> bytes);
tensor make_ints(const std::vector<int64_t>& values);  ///< INT64, rank 1

}  // namespace troupe::onnx
