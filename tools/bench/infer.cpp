#include "tools/bench/infer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/device/openvino.hpp"
#include "gpu/device/peak_flops.hpp"
#include "gpu/device/profile.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "messages/common/json_text.hpp"
#include "tools/bench/onnxruntime_peer.hpp"
#include "tools/bench/row.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {

namespace {

constexpr int turns = 15;  // of one engine after the other
constexpr duration time_a_round = 15ms, time_of_peak = 100ms;

/// Random numbers for FP32 tensors; zeros, which are valid in every index table, for others.
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

/// Floating-point operations of the convolutions and matrix products of a batch, from the native engine's
/// plan; valid for every device. Throws model_error if that engine does not run the model.
double flops_of(const std::filesystem::path& file, uint32_t batch) {
  const auto model = onnx::model::load(file);
  return onnx::executor(model, onnx::load_weights(*model)).flops(batch);
}

/// What is measured, in turns.
struct engines {
  model_maker chosen;
  model_maker openvino;              ///< beside it; empty: no
  onnxruntime_peer* peer = nullptr;  ///< null: no
};

/// µs of a batch.
double latency_of(batch_model& model, const batch_part& part) {
  const machine_clock clock;
  const auto samples = measure_latency(clock, {&part.rows, 1}, time_a_round, [&](uint32_t n) {
    model.run(n, {&part, 1}, nullptr);
  });
  return to_ms(samples.front().latency) * 1e3;
}

void measure(const std::filesystem::path& file, const engines& by, std::vector<bench_row>& rows) {
  const machine_clock clock;
  for (const uint32_t batch : {1U, 8U}) {
    // loads it anew: a GPU chooses its execution by the batch size
    const model_source source{.name = file.string(), .path = file.string(), .max_batch = batch};
    const auto model = by.chosen(source);
    const auto openvino = by.openvino ? by.openvino(source) : nullptr;
    const auto& signature = model->signature();
    bench_row row{.name = fmt::format("{} batch {}", file.stem().string(), batch), .unit = "us"};
    const double flops = flops_of(file, batch);
    // Measured again before each row, because the machine's speed drifts with other load. For the same reason
    // the engines take turns.
    if (by.peer != nullptr) row.reference = flops / measure_peak_flops(clock, time_of_peak) * 1e6;
    const auto input = random_input(signature, batch);
    std::vector<std::byte> output(batch * output_row_bytes(signature));
    const batch_part part{batch, input, output};
    std::vector<double> ours, others, theirs;
    for (int i = 0; i < turns; ++i) {
      ours.push_back(latency_of(*model, part));
      if (openvino) others.push_back(latency_of(*openvino, part));
      if (by.peer == nullptr || !by.peer->available()) continue;
      if (const auto us = by.peer->measure(file.string(), batch, time_a_round)) theirs.push_back(*us);
    }
    row.value = std::ranges::min(ours);
    if (!row.reference) row.more["tflops"] = flops / row.value * 1e-6;
    const auto compare = [&](const std::string& name, const std::vector<double>& us) {
      if (us.size() != ours.size()) return;
      row.more[name] = std::ranges::min(us);
      row.more[name + "_ratio"] = row.value / std::ranges::min(us);
    };
    compare("openvino", others);
    compare("onnxruntime", theirs);
    rows.push_back(std::move(row));
  }
}

void print_table(const std::vector<bench_row>& rows, const std::string& version) {
  fmt::print("{:<24} {:>12} {:>16} {:>7} {:>10} {:>7} {:>18} {:>7}\n", "one core", "us", "at GEMM speed",
             "ratio", "openvino", "ratio", fmt::format("onnxruntime {}", version), "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<24} {:>12.1f} {:>16.1f} {:>7.2f}", r.name, r.value, *r.reference, r.ratio());
    for (const auto& [name, width] : {std::pair{"openvino", 10}, {"onnxruntime", 18}}) {
      if (r.more.contains(name))
        fmt::print(" {:>{}.1f} {:>7.2f}", r.more[name].get<double>(), width,
                   r.more[std::string(name) + "_ratio"].get<double>());
      else
        fmt::print(" {:>{}} {:>7}", "-", width, "-");
    }
    fmt::print("\n");
  }
}

void print_gpu_table(const std::vector<bench_row>& rows, const std::string& title) {
  fmt::print("{:<24} {:>12} {:>10}\n", title, "us", "TFLOP/s");
  for (const auto& r : rows)
    fmt::print("{:<24} {:>12.1f} {:>10.3f}\n", r.name, r.value, r.more["tflops"].get<double>());
}

}  // namespace

int bench_infer(const bench_infer_options& options) {
  std::vector<bench_row> rows;
  std::optional<onnxruntime_peer> peer;
  try {
    engines by{.chosen = one_device(options.where), .openvino = {}};
    onnx::use_operator_threads(1);
    const auto files = models_in(options.models);
    if (options.where.device == "cpu") {
      by.peer = &peer.emplace(options.python);
      if (openvino_is_installed()) by.openvino = on_openvino();
    }
    for (const auto& file : files) measure(file, by, rows);
  } catch (const model_error& e) {
    report("{}", e.what());
    return exit_bad_input;
  } catch (const std::exception& e) {
    report("{}", e.what());
    return exit_failed;
  }
  if (peer && !peer->problem().empty()) report("{}", peer->problem());
  if (options.json)
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"rows", rows_json(rows)}}, 2));
  else if (peer)
    print_table(rows, peer->version());
  else
    print_gpu_table(rows, title_of(options.where));
  return exit_done;
}

}  // namespace troupe
