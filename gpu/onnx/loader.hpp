// Reads ONNX files (protobuf) into plain graphs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

inline constexpr int64_t oldest_opset = 11;
inline constexpr int64_t newest_opset = 17;
inline constexpr uint64_t max_file_bytes = INT32_MAX;  ///< protobuf's limit of a message

/// The type with this number in TensorProto.DataType, if it is supported.
std::optional<data_type> type_numbered(int64_t onnx_type);

/// Reads a file and checks its structure (structure.hpp), for engines that read it themselves. Throws
/// unreadable_model.
void check_file(const std::filesystem::path& path);

/// Reads a file. Constant nodes become constants. Throws `model_error` unless it is a valid graph of a
/// supported opset with its weights inside. Throws nothing else on any bytes. Larger files than
/// `max_file_bytes` are refused unread.
graph load_graph(const std::filesystem::path& path);

/// The same from memory. `file`: name for messages.
graph parse_graph(std::span<const std::byte> bytes, const std::string& file);

}  // namespace troupe::onnx
