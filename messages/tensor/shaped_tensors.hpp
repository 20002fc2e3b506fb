// The tensors of a request to a model with free dimensions, as they travel: the shapes of all, then the bytes
// of all. A shape is the rank, then the dimensions, as 64-bit numbers in the byte order of the machine, as
// the values are. Pure functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/tensor/tensor.hpp"

namespace troupe {

/// The bytes of the values of all; nothing if a dimension is free, or if no memory holds them.
std::optional<uint64_t> values_bytes(std::span<const tensor_spec> tensors);

/// The bytes that the shapes of these take.
uint64_t shapes_bytes(std::span<const tensor_spec> tensors);

/// Writes the shapes to the front of `into` and returns the rest of it, for the values. Requires: room for
/// `shapes_bytes`.
std::span<std::byte> write_shapes(std::span<const tensor_spec> tensors, std::span<std::byte> into);

struct shaped_tensors {
  std::vector<tensor_spec> tensors;   ///< without free dimensions; 0 is one of no elements
  std::span<const std::byte> values;  ///< of all, in order; within the bytes that were read
};
/// Nothing if the bytes are not tensors as `declared`: another rank or fixed dimension, an impossible shape,
/// or another number of bytes.
std::optional<shaped_tensors> read_shapes(std::span<const tensor_spec> declared,
                                          std::span<const std::byte> bytes);

/// The first dimension of the first tensor. Requires: there is one.
uint64_t rows_of(const shaped_tensors& request);
uint64_t total_rows(std::span<const shaped_tensors> requests, std::span<const size_t> which);
/// The positions of requests, those together whose shapes agree except for their number of rows, with which
/// all of their tensors begin; each alone if not `together`.
std::vector<std::vector<size_t>> equal_rows(std::span<const shaped_tensors> requests, bool together);

/// A hash of the shapes, `with_rows` or without their first dimensions, for requests that run together. Never
/// 0.
uint64_t shape_class_of(std::span<const tensor_spec> tensors, bool with_rows);

/// The shape is one of `declared`, for the free dimensions.
bool fits(const tensor_spec& declared, std::span<const int64_t> shape);

}  // namespace troupe
