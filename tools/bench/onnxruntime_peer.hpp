// onnxruntime in a Python process beside this one, measured on request: what the CPU engine is held against.
#pragma once
#include <cstdio>
#include <optional>
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

class onnxruntime_peer {
 public:
  /// Starts tools/bench/onnxruntime_peer.py (so it wants the source folder as working directory) with this
  /// interpreter. If that or onnxruntime is not there, `available()` is false and `problem()` says what to
  /// do.
  explicit onnxruntime_peer(const std::string& python);
  ~onnxruntime_peer();
  onnxruntime_peer(const onnxruntime_peer&) = delete;
  onnxruntime_peer& operator=(const onnxruntime_peer&) = delete;

  bool available() const { return !version_.empty(); }
  const std::string& version() const { return version_; }
  const std::string& problem() const { return problem_; }

  /// Median time in µs of a batch of random rows in one thread, runs for `budget`. Waits. Nothing if it
  /// cannot run the model; then `problem()` says why.
  std::optional<double> measure(const std::string& model_file, uint32_t rows, duration budget);

 private:
  std::optional<std::string> read_line();

  int pid_ = -1;
  FILE *requests_ = nullptr, *answers_ = nullptr;
  std::string version_, problem_;
};

}  // namespace troupe
