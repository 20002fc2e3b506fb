#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe {

/// Protobuf's limit of a message, and so of an ONNX file.
inline constexpr uint64_t max_onnx_bytes = INT32_MAX;

/// The reason why a file cannot be read or cannot be an ONNX model, or nothing. Decides by the file's size
/// and first byte, so that files of any size are judged at once.
std::string onnx_file_problem(const std::filesystem::path& file);

}  // namespace troupe
