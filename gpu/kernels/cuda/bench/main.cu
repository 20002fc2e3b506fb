// gpu_bench [--json] [--filter TEXT]: measures the kernels on this device, and compares them with the
// device's limits, measured in the same run, and with the targets for an H200.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/launch.cuh"

using namespace troupe::cuda;

namespace {

void print_table(const bench& b, const device_limits& limits) {
  std::printf("%-28s %-44s %10s %10s %10s %8s %s\n", "op", "shape", "us", "GB/s", "TFLOP/s", "of limit",
              "  target us");
  for (const bench_row& row : b.rows) {
    char rate[32] = "", work[32] = "", goal[48] = "";
    if (row.bytes > 0) std::snprintf(rate, sizeof rate, "%.0f", row.bytes / row.us * 1e-3);
    if (row.flops > 0) std::snprintf(work, sizeof work, "%.0f", row.flops / row.us * 1e-6);
    if (const auto target = target_us(row, b.rows, limits))
      std::snprintf(goal, sizeof goal, "%11.2f %s", *target, row.us <= *target ? "met" : "missed");
    std::printf("%-28s %-44s %10.2f %10s %10s %7.0f%% %s\n", row.op.c_str(), row.shape.c_str(), row.us, rate,
                work, 100 * share_of_limit(row, limits), goal);
  }
}

void print_json(const bench& b, const device_limits& limits) {
  std::printf("[\n");
  for (size_t i = 0; i < b.rows.size(); ++i) {
    const bench_row& row = b.rows[i];  // names need no escaping
    std::printf(R"(  {"op": "%s", "shape": "%s", "us": %.3f, "bytes": %.0f, "flops": %.0f, "share": %.4f)",
                row.op.c_str(), row.shape.c_str(), row.us, row.bytes, row.flops, share_of_limit(row, limits));
    if (const auto target = target_us(row, b.rows, limits)) std::printf(R"(, "target_us": %.3f)", *target);
    std::printf("}");
    std::printf(i + 1 < b.rows.size() ? ",\n" : "\n");
  }
  std::printf("]\n");
}

/// True if all benchmarks succeeded. Ends after a failure, which may have left a capturing stream.
bool measure(bench& b) {
  static constexpr struct {
    const char* name;
    void (*run)(bench&);
  } all[] = {{"lora", bench_lora},        {"attention", bench_attention}, {"sampling", bench_sampling},
             {"decode step", bench_step}, {"conv", bench_conv},           {"tensors", bench_tensors}};
  for (const auto& one : all) {
    try {
      one.run(b);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "gpu_bench: %s: %s; the rest is left out\n", one.name, e.what());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  const char* filter = "";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      filter = argv[++i];
    } else {
      std::fprintf(stderr, "usage: gpu_bench [--json] [--filter TEXT]\n");
      return 2;
    }
  }
  try {
    if (!runs_sm90_code()) throw std::runtime_error("gpu_bench is for GPUs that run the code for sm_90");
    bench b(filter);
    const device_limits limits = measure_limits(b);
    const bool all = measure(b);
    json ? print_json(b, limits) : print_table(b, limits);
    return all ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_bench: %s\n", e.what());
    return 1;
  }
}
