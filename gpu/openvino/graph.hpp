// An ONNX file as OpenVINO reads it.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "gpu/device/device.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::vino {

struct graph {
  std::shared_ptr<ov::Model> model;  ///< batched: with a dynamic first dimension of each input
  model_signature signature;
  uint64_t parameter_bytes = 0;
};

/// A batched source needs inputs whose first dimension is dynamic and whose others are static, and outputs
/// that have the same first dimension. Otherwise all dimensions are static, by the file or by the source's
/// shapes, which reach the frontend before it converts the graph. With `any_shape` they may stay dynamic: -1
/// in the signature, whose number of dimensions is fixed. `content`: of the file, changed; empty: the
/// file is read. Throws model_error.
graph read_graph(const model_source& source, const std::string& content);

/// OpenVINO's message in one line, without the places in its sources.
std::string brief(const std::exception& e);

}  // namespace troupe::vino
