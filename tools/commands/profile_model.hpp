// `troupe profile`: measures a model's latency at every batch size, and fits the line that schedulers use.
#pragma once
#include <cstdint>
#include <string>

#include "tools/common/one_device.hpp"

namespace troupe {

struct profile_options {
  std::string model_file;  ///< ONNX
  uint32_t max_batch = 32;
  device_choice where;
  bool engines = false;  ///< measure each engine of the CPU that runs the model
  bool json = false;
};

/// Measures the model on one core, or a GPU, at batch sizes 1, 2, 4, ..., max_batch and prints a table with
/// α, β and the error of the fit, or with `json` one document with the same. With `engines` there is a table
/// for each, or the reason why an engine does not run the model, and in JSON the list "engines". A model with
/// given shapes has no batches. Returns 0; 1 if a batch failed; 2 for an unusable model or device or a batch
/// size of 0, with one message to standard error.
int profile_model(const profile_options& options);

}  // namespace troupe
