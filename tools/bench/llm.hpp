// `troupe bench llm`: how near steps of a language model come to what this machine's memory and cores can do.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/lab/random_llm.hpp"

namespace troupe {

struct bench_llm_options {
  llm::llm_shape shape;       ///< of the model: random numbers
  std::string type = "bf16";  ///< of weights, adapters and the KV cache: f32, bf16, f16
  uint32_t threads = 0;       ///< 0: as many as there are cores
  std::vector<uint32_t> batches = {1, 2, 4, 8, 16, 32};
  uint32_t context = 512;  ///< tokens of each sequence, and of the prefill
  uint32_t adapters = 32;  ///< rows that have an adapter each, against as many without; 0: leaves it out
  uint32_t rank = 16;      ///< of the adapters
  double seconds = 5;      ///< for each figure
  bool cpu_time = false;   ///< all times are the CPU's, of one thread: for a machine that others use, too
  bool json = false;
};

/// Prints a table or, with `json`, one document: {"parameters", "threads", "read_bandwidth_bytes_per_s",
/// "gemm_flop_per_s", "rows": [{name, value, unit, reference, ratio, ...}]}.
///
/// Decode and prefill are in tokens/s; their reference is what they could be if the step took only as long as
/// reading its weights and KV cache once at this machine's read bandwidth (kernels::read_bandwidth), or, if
/// that is longer, its multiplications and additions at the speed of a large f32 matrix product
/// (measure_peak_flops). Both limits are measured in turns with the steps, as long as these take; each side
/// is the best of its turns, and `spread` the median step over the best one: how much the machine was
/// disturbed. With adapters the reference is the same batch without them, in turns. Host work is in µs with
/// what it is allowed as its reference.
///
/// Returns 0; 2 if the options make no model or it does not fit into memory.
int bench_llm(const bench_llm_options& options);

}  // namespace troupe
