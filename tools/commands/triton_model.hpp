// A model of a Triton model repository: NAME/config.pbtxt, which may be missing, and NAME/VERSION/model.onnx.
#pragma once
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tools/commands/served_file.hpp"

namespace troupe {

struct triton_model {
  served_file model;
  std::vector<std::string> notes;  ///< a line for each field of its configuration without effect
};

/// The folder has a config.pbtxt, or a version with a model.onnx.
bool is_triton_model(const std::filesystem::path& folder);

/// The version that its configuration chooses, checked against the graph. `name`: of the model in the cluster
/// file; `slo_ms`: without a timeout of the configuration; `shapes`, `used`: as of `give_shapes`. Throws
/// std::invalid_argument with all problems, a line each, or model_error.
triton_model read_triton_model(const std::filesystem::path& folder, const std::string& name, double slo_ms,
                               std::span<const input_shape> shapes, std::set<std::string>& used);

}  // namespace troupe
