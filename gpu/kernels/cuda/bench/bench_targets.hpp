// Target times of the rows of gpu_bench on an H200 (docs/gpu.md, Roofline).
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::cuda {

struct bench_row {
  std::string op, shape;
  double us = 0;                    ///< per launch
  double bytes = 0;                 ///< necessary memory traffic
  double flops = 0;                 ///< 0: limited by memory
  double max_flops_per_second = 0;  ///< limit for this type; 0: that of device_limits
};

/// Measured limits of this device.
struct device_limits {
  double read_bytes_per_second = 0;  ///< of a read-only stream
  double flops_per_second = 0;       ///< of cuBLAS, bf16, 8192 x 8192 x 8192
};

/// Share of the limit of the row: of cuBLAS's rate if the row has flops, else of the read bandwidth.
inline double share_of_limit(const bench_row& row, const device_limits& limits) {
  const double peak_flops = row.max_flops_per_second > 0 ? row.max_flops_per_second : limits.flops_per_second;
  return row.flops > 0 ? row.flops / row.us * 1e6 / peak_flops
                       : row.bytes / row.us * 1e6 / limits.read_bytes_per_second;
}

/// A bound: µs, or a share of the limit, or a factor over another shape of the op.
struct bench_target {
  std::string_view op, shape;
  double max_us = 0, min_share = 0, max_ratio = 0;
  std::string_view other = {};
};

inline constexpr bench_target bench_targets[] = {
    {"lora", "r16 4096->4096 distinct 1", 3.5},
    {"lora", "r16 4096->4096 distinct 16", 5},
    {"lora", "r16 4096->4096 distinct 64", 9},
    {"lora", "r16 4096->4096 identical 64", 4.5},
    {"lora", "r16 4096->4096 uniform 64", 5},
    {"lora", "r64 4096->4096 distinct 64", 20},
    {"lora", "r16 4096->11008 distinct 64", 14},
    {"attention decode", "32 x kv 2048, 32:32 heads x 128", 242},
    {"attention decode", "32 x kv 2048, 32:8 heads x 128", 68},
    {"attention decode", "32 x kv 512, 32:32 heads x 128", 67},        // 4.0 TB/s
    {"attention prefill", "4 x 2048 causal, 32:32 heads x 128", 343},  // 400 TFLOP/s
    {"decode step, 7B bf16", "batch 32 kv 512 heads 32:32", 0, 0.72},
    {"decode step, 7B bf16", "batch 32 kv 512 heads 32:32 r16 distinct", 0, 0, 1.20,
     "batch 32 kv 512 heads 32:32"},
};

/// Maximal time of the row; none if it has no target, or if the row that it is compared with is missing.
inline std::optional<double> target_us(const bench_row& row, const std::vector<bench_row>& all,
                                       const device_limits& limits) {
  for (const bench_target& t : bench_targets) {
    if (t.op != row.op || t.shape != row.shape) continue;
    if (t.max_us > 0) return t.max_us;
    if (t.min_share > 0) return row.us * share_of_limit(row, limits) / t.min_share;
    const auto other = std::find_if(all.begin(), all.end(),
                                    [&](const bench_row& r) { return r.op == t.op && r.shape == t.other; });
    if (other != all.end()) return other->us * t.max_ratio;
  }
  return {};
}

}  // namespace troupe::cuda
