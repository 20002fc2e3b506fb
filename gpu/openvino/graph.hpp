// An ONNX file as OpenVINO reads it.
#pragma once
#include <cstdint>
#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "gpu/device/device.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::vino {

/// All inputs may begin with any number of rows, and then all outputs begin with as many, whatever their
/// other dimensions are: by the shapes of the graph.
bool keeps_rows(const ov::Model& graph);

struct graph {
  std::shared_ptr<ov::Model> model;  ///< batched: with a dynamic first dimension of each input
  model_signature signature;
};

/// A batched source needs inputs whose first dimension is dynamic and whose others are static, and outputs
/// that have the same first dimension. Otherwise all dimensions are static, by the file or by the source's
/// shapes, which reach the frontend before it converts the graph. With `any_shape` they may stay dynamic: -1
/// in the signature, whose number of dimensions is fixed. `content`: of the file, changed; empty: the
/// file is read. Throws model_error.
graph read_graph(const model_source& source, const std::string& content);

/// Throws model_error if a batch of this many rows exceeds the bounds (guard.hpp).
void check_batch(const ov::Model& model, int64_t rows);

}  // namespace troupe::vino
