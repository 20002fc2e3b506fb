// Reading, planning and running any bytes as a model file gives outputs or a message. Models that would take
// long or much memory are only planned.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan.hpp"

using namespace troupe;

namespace {

constexpr uint64_t max_bytes = 1 << 22;
constexpr double max_operations = 1e8;

/// Numbers of every sign and size, and bytes that are not booleans; deterministic.
std::vector<std::byte> some_bytes(uint64_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t x = 1;
  for (auto& b : bytes) b = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// In two parts if possible: each must get its own rows.
void run(const std::shared_ptr<const onnx::model>& m, const std::shared_ptr<onnx::weights>& w,
         uint32_t rows) {
  const auto& s = m->signature();
  const auto taken = input_row_bytes(s), given = output_row_bytes(s);
  if (rows * (taken + given) > max_bytes) return;
  const auto plan = onnx::make_plan(*m, *w, rows);
  if (plan->memory_bytes() > max_bytes || plan->flops + plan->pooled > max_operations) return;
  const auto in = some_bytes(rows * taken);
  std::vector<std::byte> out(rows * given);
  std::vector<batch_part> parts;
  const uint32_t first = rows / 2;
  if (first > 0)
    parts.push_back({first, std::span{in}.first(first * taken), std::span{out}.first(first * given)});
  parts.push_back(
      {rows - first, std::span{in}.subspan(first * taken), std::span{out}.subspan(first * given)});
  onnx::executor(m, w).run(rows, parts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  onnx::use_operator_threads(1);
  std::shared_ptr<const onnx::model> m;
  try {
    m = std::make_shared<const onnx::model>(
        onnx::parse_graph(std::as_bytes(std::span{data, size}), "fuzz.onnx"));
  } catch (const model_error&) {
    return 0;
  }
  const auto w = onnx::load_weights(*m);
  for (const uint32_t rows : {1, 3, 5}) {
    try {
      run(m, w, rows);
    } catch (const model_error&) {
    }
  }
  return 0;
}
