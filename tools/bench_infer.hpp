// `troupe bench infer`: how near the CPU engine comes to what a core can do.
#pragma once
#include <string>

namespace troupe {

struct bench_infer_options {
  std::string models = "tests/fixtures/onnx";  ///< a folder: every *.onnx file in it is measured
  bool json = false;
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}: for every model at
/// batch sizes 1 and 8 the latency in µs, where `reference` is the time that its convolutions and matrix
/// products alone would take at the speed of a large matrix product, measured in the same run, and ratio =
/// value / reference. Returns 0; 2 if there is no model or one cannot be loaded.
int bench_infer(const bench_infer_options& options);

}  // namespace troupe
