// Messages of an engine that names nodes in its own way.
#pragma once
#include <filesystem>
#include <string>

namespace troupe::onnx {

/// Nodes as `describe` names them (graph.hpp): "node 'NAME' (OPERATOR)" in the message becomes the node of
/// the file that has NAME, or an output NAME. Names that the file does not have stay.
std::string with_node_names(const std::string& message, const std::filesystem::path& file);

}  // namespace troupe::onnx
