// ONNX files as graphs of OpenVINO.
#pragma once
#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "gpu/device/device.hpp"

namespace troupe::vino {

/// The shapes of the source reach the frontend before it converts the graph. `content`: of the file, changed;
/// empty: the file is read. Throws model_error, without the file, for nodes that OpenVINO does not convert;
/// and other exceptions.
std::shared_ptr<ov::Model> convert(const model_source& source, const std::string& content);

}  // namespace troupe::vino
