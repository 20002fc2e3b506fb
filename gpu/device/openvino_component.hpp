// The interface between the program and the component libtroupe_openvino.so, which runs ONNX models by
// OpenVINO. The program opens it when a model needs it (gpu/device/openvino.hpp), and works without it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "gpu/device/batch_model.hpp"

namespace troupe {

/// The functions of the component. Both throw model_error, which names the file and the fix. `content`: what
/// is read instead of the file; empty: the file.
struct openvino_component {
  /// Versions with which it was built; others than the program's do not fit.
  std::string_view troupe, compiler;
  /// Reads the graph only.
  model_signature (*signature)(const model_source& source, const std::string& content);
  std::unique_ptr<batch_model> (*open)(const model_source& source, const std::string& content, int threads);
};

/// The only symbol that the component exports: `const openvino_component* troupe_openvino()`.
inline constexpr const char* openvino_entry = "troupe_openvino";
using openvino_entry_function = const openvino_component* (*)();

}  // namespace troupe
