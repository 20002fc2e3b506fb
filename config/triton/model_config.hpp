// Triton's configuration of a model, config.pbtxt, as far as it is served. model_config.proto has all fields.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::triton {

inline constexpr int64_t free_dimension = -1;

/// An input or output.
struct config_tensor {
  std::string name;
  std::optional<data_type> type;  ///< none: not given
  std::vector<int64_t> dims;      ///< at least 1, or free_dimension; without the dimension for batches
  file_position where;
};

/// The versions to serve: the named ones, or as many of the latest.
struct version_policy {
  std::vector<int64_t> specific;         ///< empty: the latest
  std::optional<uint32_t> latest = {1};  ///< none: all
  file_position where;
};

struct model_config {
  std::optional<uint32_t> max_batch;  ///< 0: no dimension for batches; none: not given
  std::vector<config_tensor> inputs, outputs;
  std::string model_file = "model.onnx";  ///< in the folder of a version
  version_policy versions;
  std::optional<duration> timeout;  ///< of a request
};

struct model_config_reading {
  model_config config;            ///< to be used only without problems
  std::vector<problem> problems;  ///< the first error of the text, or unsupported fields and wrong values
  std::vector<problem> ignored;   ///< fields that have no effect, with the reasons
};

/// `file`: its name in messages; `model`: the name of its folder, which the configuration's name equals.
model_config_reading read_model_config(std::string_view text, const std::string& file,
                                       const std::string& model);

}  // namespace troupe::triton
