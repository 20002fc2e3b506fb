// `troupe bench infer`: the CPU engine against the peak of a core, OpenVINO and onnxruntime; or the speed of
// a GPU.
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

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio, openvino, openvino_ratio,
/// onnxruntime, onnxruntime_ratio}]}: for every model at batch sizes 1 and 8 the latency in µs on one thread,
/// the median of the best of several rounds. `reference` is the time of its convolutions and matrix products
/// alone at the speed of a large matrix product on this core, ratio = value / reference. `openvino` and
/// `onnxruntime` are their latencies; all take turns. Their keys are missing if they are not installed.
/// On a GPU the rows are {name, value, unit, tflops}: the rate of these convolutions and products, with all
/// other work and the copies of inputs and outputs included in the time. Returns 0; 1 if a batch failed; 2 if
/// there is no model, one cannot be loaded, or the device does not exist.
int bench_infer(const bench_infer_options& options);

}  // namespace troupe
