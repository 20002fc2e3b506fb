#include "tools/bench_infer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "gpu/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/peak_flops.hpp"
#include "gpu/profile.hpp"

namespace troupe {

namespace {

constexpr duration time_a_row = 300ms;

struct bench_row {
  std::string name;
  double value = 0, reference = 0;  // µs
};

std::vector<std::filesystem::path> models_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  if (files.empty()) throw model_error(fmt::format("{}: no *.onnx file there (--models DIR)", folder));
  std::ranges::sort(files);
  return files;
}

void measure(const std::filesystem::path& file, std::vector<bench_row>& rows) {
  const machine_clock clock;
  const auto model = onnx::model::load(file);
  onnx::executor executor(model, onnx::load_weights(*model));
  for (const uint32_t batch : {1U, 8U}) {
    // Before each row anew: the machine's speed drifts with what else it does.
    const double peak = measure_peak_flops(clock, time_a_row / 3);
    const std::vector<std::byte> input(batch * input_row_bytes(model->signature()));
    std::vector<std::byte> output(batch * output_row_bytes(model->signature()));
    const batch_part part{batch, input, output};
    const auto samples = measure_latency(clock, {&batch, 1}, time_a_row, [&](uint32_t n) {
      executor.run(n, {&part, 1});
    });
    rows.push_back({fmt::format("{} batch {}", file.stem().string(), batch),
                    to_ms(samples.front().latency) * 1e3, executor.flops(batch) / peak * 1e6});
  }
}

}  // namespace

int bench_infer(const bench_infer_options& options) {
  std::vector<bench_row> rows;
  try {
    onnx::use_operator_threads(1);
    for (const auto& file : models_in(options.models)) measure(file, rows);
  } catch (const model_error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
  if (options.json) {
    nlohmann::ordered_json document{{"rows", nlohmann::ordered_json::array()}};
    for (const auto& r : rows) {
      document["rows"].push_back({{"name", r.name},
                                  {"value", r.value},
                                  {"unit", "us"},
                                  {"reference", r.reference},
                                  {"ratio", r.value / r.reference}});
    }
    fmt::print("{}\n", document.dump(2));
    return 0;
  }
  fmt::print("{:<24} {:>12} {:>16} {:>7}\n", "one core", "us", "at GEMM speed", "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<24} {:>12.1f} {:>16.1f} {:>7.2f}\n", r.name, r.value, r.reference, r.value / r.reference);
  }
  return 0;
}

}  // namespace troupe
