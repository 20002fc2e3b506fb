// `troupe bench infer`: how near the CPU engine comes to what a core can do, and to onnxruntime.
#pragma once
#include <string>

namespace troupe {

struct bench_infer_options {
  std::string models = "tests/fixtures/onnx";      ///< a folder: every *.onnx file in it is measured
  std::string python = "build/python/bin/python";  ///< with onnxruntime, to compare with
  bool json = false;
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio, onnxruntime,
/// onnxruntime_ratio}]}: for every model at batch sizes 1 and 8 the latency in µs in one thread, the median
/// of the best of several rounds. `reference` is the time that its convolutions and matrix products alone
/// would take at the speed of a large matrix product, ratio = value / reference. `onnxruntime` is what
/// onnxruntime takes; the two run in turns, and both keys are missing, with a message, if it is not
/// installed. Returns 0; 2 if there is no model or one cannot be loaded.
int bench_infer(const bench_infer_options& options);

}  // namespace troupe
