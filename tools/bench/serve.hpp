// `troupe bench serve`: the latency that the cluster adds to a model's execution. Starts a gateway with the
// scheduler and a worker as two processes, sends load over HTTP, and breaks the latency down by stage.
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
/// total, of the overhead over the execution, and of the delay of batch starts after their plan; or, with
/// `json`, {requests, finished, stages: [{name, p50_us, p99_us, min_us}]}. Returns 0, 1 if it could not
/// measure, 2 for invalid options.
int bench_serve(const bench_serve_options& options);

}  // namespace troupe
