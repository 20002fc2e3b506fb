// `troupe infer --model-file`: runs a model file once, without a cluster.
#pragma once
#include <string>

#include "tools/common/one_device.hpp"

namespace troupe {

struct infer_file_options {
  std::string model_file;  ///< ONNX
  std::string input;       ///< raw little-endian tensors in the graph's input order, each with all its rows
  std::string output;      ///< gets the outputs likewise
  device_choice where;
  bool json = false;
};

/// Derives the batch size from the size of the input. Prints a summary: a line, or with `json` one document
/// with the batch size, the signature and the time of one execution. Returns 0; 1 if the batch failed or the
/// output cannot be written; 2 for an unusable model, device or input, with one message to standard error.
int infer_file(const infer_file_options& options);

}  // namespace troupe
