// Inputs of an ONNX model that a user fixes: they become constants of the graph before an engine reads it, so
// that control flow that depends on them folds.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor/model_inputs.hpp"

namespace troupe::onnx {

/// The content of the file with these inputs fixed. `shapes`: of inputs with dynamic dimensions. Throws
/// model_error: the file lacks an input or its shape, or the value is none of the input's type.
std::string fix_inputs(const std::filesystem::path& path, const std::vector<input_constant>& values,
                       const std::vector<input_shape>& shapes);

/// The same from memory. `file`: name for messages. Throws unreadable_model if the bytes are no protobuf, and
/// nothing but model_error on any bytes.
std::string fix_inputs(std::span<const std::byte> bytes, const std::string& file,
                       const std::vector<input_constant>& values, const std::vector<input_shape>& shapes);

}  // namespace troupe::onnx
