// `troupe bench infer`: how near the CPU engine comes to what a core can do, and to onnxruntime; or what a
// GPU does.
#pragma once
#include <string>

#include "tools/common/one_device.hpp"

namespace troupe {

struct bench_infer_options {
  std::string models = "tests/fixtures/onnx";      ///< a folder: every *.onnx file in it is measured
  std::string python = "build/python/bin/python";  ///< with onnxruntime, to compare with
  device_choice where;
  bool json = false;
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio, onnxruntime,
/// onnxruntime_ratio}]}: for every model at batch sizes 1 and 8 the latency in µs in one thread, the median
/// of the best of several rounds. `reference` is the time that its convolutions and matrix products alone
/// would take at the speed of a large matrix product of this core, ratio = value / reference. `onnxruntime`
/// is what onnxruntime takes; the two run in turns, and both keys are missing, with a message, if it is not
/// installed. On a GPU, the rows are {name, value, unit, tflops}: what these convolutions and products make a
/// second, all else and the copies of inputs and outputs included. Returns 0; 1 if a batch failed; 2 if there
/// is no model, one cannot be loaded, or there is no such device.
int bench_infer(const bench_infer_options& options);

}  // namespace troupe
