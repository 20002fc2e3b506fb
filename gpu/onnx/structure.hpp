// The structure of an ONNX file that all readers rely on. OpenVINO checks only a part of it and reads a file
// that breaks the rest as another graph.
#pragma once
#include <string>

#include "onnx.pb.h"

namespace troupe::onnx {

/// In the graph and in those inside its nodes, names are defined once and before nodes read them; tensors
/// have the bytes of their shapes. Throws unreadable_model that names the file and the node or tensor.
void check_structure(const ::onnx::ModelProto& model, const std::string& file);

}  // namespace troupe::onnx
