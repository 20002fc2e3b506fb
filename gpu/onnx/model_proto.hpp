// An ONNX file as protobuf reads it.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "gpu/onnx/graph.hpp"
#include "onnx.pb.h"

namespace troupe::onnx {

inline constexpr std::string_view not_a_model = "not an ONNX model (damaged or truncated)";

/// Throws unreadable_model if the file is too large, cannot be read or is no protobuf.
::onnx::ModelProto read_model_proto(const std::filesystem::path& path);

/// As `load_graph` (gpu/onnx/loader.hpp). `file`: name for messages.
graph graph_of(const ::onnx::ModelProto& model, const std::string& file);

}  // namespace troupe::onnx
