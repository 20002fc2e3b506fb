// `troupe bench serve`: what the cluster adds to a model's own time. Starts a gateway with the scheduler and
// a worker as two processes, sends load over HTTP, and shows where each microsecond goes.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct bench_serve_options {
  std::string model_file = "examples/quickstart/models/mlp.onnx";
  double rate = 500;  ///< requests a second, one row each, Poisson
  double duration_s = 10;
  double slo_ms = 50;
  std::string batching = "eager";
  std::string transports = "posix,cma,tcp,self";  ///< between the processes, unless UCX_TLS is set
  bool json = false;
};

/// Prints median, 99th percentile and minimum of every stage (actors/frontend/request_timing.hpp), of the
/// whole, of what was added to the execution, and by how much batches started later than planned; or, with
/// `json`, {requests, finished, stages: [{name, p50_us, p99_us, min_us}]}. Returns 0, 1 if it could not
/// measure, 2 if the options make no sense.
int bench_serve(const bench_serve_options& options);

}  // namespace troupe
