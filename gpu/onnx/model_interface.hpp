// The inputs and outputs that an ONNX file declares, before an engine reads its graph.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

struct declared_tensor {
  std::string name;
  std::optional<data_type> type;             ///< none: of no type that tensors of requests have
  std::optional<std::vector<int64_t>> dims;  ///< whole; -1: dynamic. None: the file does not say
};

struct model_interface {
  std::vector<declared_tensor> inputs;  ///< without those that have an initialiser
  std::vector<declared_tensor> outputs;
  /// The first dimensions of all inputs and outputs have one name, and that says batch.
  bool names_batch = false;
};

/// Throws unreadable_model if the file cannot be read or is no protobuf. Checks no node.
model_interface read_interface(const std::filesystem::path& path);

}  // namespace troupe::onnx
