// onnxruntime in a Python process, measured on request: the reference of the CPU engine.
#pragma once
#include <cstdio>
#include <optional>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

class onnxruntime_peer {
 public:
  /// Starts tools/bench/onnxruntime_peer.py with this interpreter; the working directory must be the source
  /// folder. If the script or onnxruntime is missing, `available()` is false and `problem()` names the fix.
  explicit onnxruntime_peer(const std::string& python);
  ~onnxruntime_peer();
  onnxruntime_peer(const onnxruntime_peer&) = delete;
  onnxruntime_peer& operator=(const onnxruntime_peer&) = delete;

  bool available() const { return !version_.empty(); }
  const std::string& version() const { return version_; }
  const std::string& problem() const { return problem_; }

  /// Median time in µs of a batch of random rows on one thread, measured for `budget`. Blocks. Nothing if it
  /// cannot run the model; then `problem()` says why.
  std::optional<double> measure(const std::string& model_file, uint32_t rows, duration budget);

 private:
  std::optional<std::string> read_line();

  int pid_ = -1;
  FILE *requests_ = nullptr, *answers_ = nullptr;
  std::string version_, problem_;
};

}  // namespace troupe
