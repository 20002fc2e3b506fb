// Tensors as clients see them: name, type and shape. Values are dense, row-major, little-endian.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/message.hpp"

namespace troupe {

/// KServe V2 calls these BOOL, UINT8, ..., FP32, FP64, BYTES.
enum class data_type : uint16_t {
  boolean,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  fp16,
  bf16,
  fp32,
  fp64,
  bytes  ///< elements of variable length, each behind a four-byte length
};
inline constexpr size_t data_type_count = 14;

std::string_view to_string(data_type t);  ///< the V2 name, "FP32"
bool parse_data_type(std::string_view v2_name, data_type& out);
size_t size_of(data_type t);  ///< bytes per element; 0 for BYTES, whose elements have lengths of their own

/// An input or output of a model. In a signature `shape` is that of one row: the leading batch dimension is
/// left out. -1: a free dimension, which each request gives.
struct tensor_spec {
  std::string name;
  data_type type = data_type::fp32;
  std::vector<int64_t> shape;

  TROUPE_MESSAGE(tensor_spec, name, type, shape)
  bool operator==(const tensor_spec&) const = default;
};

bool has_free_dimension(const tensor_spec& t);
/// Of one row; 0 if a dimension is free, and the largest number beyond that.
int64_t elements(const tensor_spec& t);
uint64_t row_bytes(const tensor_spec& t);  ///< likewise

/// Inputs and outputs of a model. The input bytes of a request are its input tensors in this order, each with
/// all its rows; outputs likewise.
struct model_signature {
  std::vector<tensor_spec> inputs;
  std::vector<tensor_spec> outputs;
  bool batched = true;  ///< false: tensors have no dimension for rows, and a request is one row

  TROUPE_MESSAGE(model_signature, inputs, outputs, batched)
  bool operator==(const model_signature&) const = default;

  /// An input or output with the whole shape that it has in a request of `rows` rows.
  tensor_spec whole(tensor_spec t, int64_t rows) const {
    if (batched) t.shape.insert(t.shape.begin(), rows);
    return t;
  }
};

/// A model with free dimensions: each request runs alone, and its tensors travel with their shapes
/// (shaped_tensors.hpp).
bool has_free_dimension(const model_signature& s);
uint64_t input_row_bytes(const model_signature& s);
uint64_t output_row_bytes(const model_signature& s);

}  // namespace troupe
