// `troupe bench llm`: steps of a language model against the limits of this machine's memory and cores.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/lab/random_llm.hpp"

namespace troupe {

struct bench_llm_options {
  llm::llm_shape shape;       ///< of the model; its weights are random
  std::string type = "bf16";  ///< of weights, adapters and the KV cache: f32, bf16, f16
  uint32_t threads = 0;       ///< 0: as many as there are cores
  std::vector<uint32_t> batches = {1, 2, 4, 8, 16, 32};
  uint32_t context = 512;  ///< tokens of each sequence, and of the prefill
  uint32_t adapters = 32;  ///< rows with an adapter each, compared with as many without; 0: not measured
  uint32_t rank = 16;      ///< of the adapters
  double seconds = 5;      ///< for each measurement
  bool cpu_time = false;   ///< measure CPU time of one thread: for a machine with other users
  bool json = false;
};

/// Prints a table or, with `json`, one document: {"parameters", "threads", "read_bandwidth_bytes_per_s",
/// "gemm_flop_per_s", "rows": [{name, value, unit, reference, ratio, ...}]}.
///
/// Decode and prefill are in tokens/s. Their reference is the roofline: the longer of reading the weights and
/// the KV cache once at this machine's read bandwidth (kernels::read_bandwidth), and its multiplications and
/// additions at the speed of a large f32 matrix product (measure_peak_flops). Both limits are measured in
/// turns with the steps, for the same time. Each side reports the best of its turns; `spread` is the median
/// step over the best one, a measure of disturbance. With adapters the reference is the same batch without
/// them, in turns. Host work is in µs, with its budget as the reference.
///
/// Returns 0; 2 if the options make no model or it does not fit into memory.
int bench_llm(const bench_llm_options& options);

}  // namespace troupe
