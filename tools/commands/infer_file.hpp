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

/// Derives the batch size, or the free first dimension of inputs, from the size of the input. Prints a
/// summary: a line, or with `json` one document with the batch size, the inputs and outputs with their whole
/// shapes, and the time of one execution. Returns 0; 1 if the device failed or the output cannot be written;
/// 2 for a model that cannot be loaded or run, and for an unusable device or input, with one message to
/// standard error.
int infer_file(const infer_file_options& options);

}  // namespace troupe
