#include "tools/bench_infer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "gpu/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/peak_flops.hpp"
#include "gpu/profile.hpp"
#include "tools/onnxruntime_peer.hpp"

namespace troupe {

namespace {

constexpr int rounds = 15;  // of one engine after the other
constexpr duration time_a_round = 15ms, time_of_peak = 100ms;

struct bench_row {
  std::string name;
  double value = 0, reference = 0;  // µs
  std::optional<double> peer;       // µs
};

/// Random numbers in FP32 tensors; zeros, which every index table has, in others.
std::vector<std::byte> random_input(const model_signature& signature, uint32_t rows) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::byte> bytes;
  for (const auto& spec : signature.inputs) {
    std::vector<float> numbers(rows * row_bytes(spec) / sizeof(float), 0);
    if (spec.type == data_type::fp32) std::ranges::generate(numbers, [&] { return normal(random); });
    const auto part = std::as_bytes(std::span{numbers});
    bytes.insert(bytes.end(), part.begin(), part.end());
    bytes.resize(bytes.size() + rows * row_bytes(spec) % sizeof(float));
  }
  return bytes;
}

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

void measure(const std::filesystem::path& file, onnxruntime_peer& peer, std::vector<bench_row>& rows) {
  const machine_clock clock;
  const auto model = onnx::model::load(file);
  onnx::executor executor(model, onnx::load_weights(*model));
  for (const uint32_t batch : {1U, 8U}) {
    // Before each row anew: the machine's speed drifts with what else it does. For the same reason the
    // engines run in turns.
    const double peak = measure_peak_flops(clock, time_of_peak);
    const auto input = random_input(model->signature(), batch);
    std::vector<std::byte> output(batch * output_row_bytes(model->signature()));
    const batch_part part{batch, input, output};
    std::vector<double> ours, theirs;
    for (int i = 0; i < rounds; ++i) {
      const auto samples = measure_latency(clock, {&batch, 1}, time_a_round, [&](uint32_t n) {
        executor.run(n, {&part, 1});
      });
      ours.push_back(to_ms(samples.front().latency) * 1e3);
      if (!peer.available()) continue;
      if (const auto us = peer.measure(file.string(), batch, time_a_round)) theirs.push_back(*us);
    }
    rows.push_back({fmt::format("{} batch {}", file.stem().string(), batch), std::ranges::min(ours),
                    executor.flops(batch) / peak * 1e6,
                    theirs.size() == ours.size() ? std::optional{std::ranges::min(theirs)} : std::nullopt});
  }
}

}  // namespace

int bench_infer(const bench_infer_options& options) {
  std::vector<bench_row> rows;
  onnxruntime_peer peer(options.python);
  try {
    onnx::use_operator_threads(1);
    for (const auto& file : models_in(options.models)) measure(file, peer, rows);
  } catch (const model_error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
  if (!peer.problem().empty()) fmt::print(stderr, "{}\n", peer.problem());
  if (options.json) {
    nlohmann::ordered_json document{{"rows", nlohmann::ordered_json::array()}};
    for (const auto& r : rows) {
      nlohmann::ordered_json row{{"name", r.name},
                                 {"value", r.value},
                                 {"unit", "us"},
                                 {"reference", r.reference},
                                 {"ratio", r.value / r.reference}};
      if (r.peer) {
        row["onnxruntime"] = *r.peer;
        row["onnxruntime_ratio"] = r.value / *r.peer;
      }
      document["rows"].push_back(std::move(row));
    }
    fmt::print("{}\n", document.dump(2));
    return 0;
  }
  fmt::print("{:<24} {:>12} {:>16} {:>7} {:>18} {:>7}\n", "one core", "us", "at GEMM speed", "ratio",
             fmt::format("onnxruntime {}", peer.version()), "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<24} {:>12.1f} {:>16.1f} {:>7.2f}", r.name, r.value, r.reference, r.value / r.reference);
    if (r.peer)
      fmt::print(" {:>18.1f} {:>7.2f}\n", *r.peer, r.value / *r.peer);
    else
      fmt::print(" {:>18} {:>7}\n", "-", "-");
  }
  return 0;
}

}  // namespace troupe
