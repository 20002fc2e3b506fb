// Reading, planning and running any bytes as a model file gives outputs or a message, and so does fixing its
// inputs. Models that would take long or much memory are only planned.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/fixed_inputs.hpp"
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

/// The rate of the models of silero-vad: the branches of their control flow hang on it.
const std::vector<input_constant> a_rate{{"sr", 16000}};

/// As OpenVINO gets the file, with constants and without. Nothing else reads its control flow.
void fix(std::span<const std::byte> bytes) {
  for (const auto& constants : {a_rate, std::vector<input_constant>{}}) {
    try {
      const auto content = onnx::fix_inputs(bytes, "fuzz.onnx", constants, {});
      onnx::parse_graph(std::as_bytes(std::span{content}), "fuzz.onnx");
      return;
    } catch (const model_error&) {
    }
  }
}

/// Gives each dynamic dimension of a row a size, as `shapes` of a [[model]] does. False: there is none.
bool give_shapes(onnx::graph& g) {
  bool any = false;
  for (auto& i : g.inputs)
    for (size_t d = 1; d < i.dims.size(); ++d)
      if (i.dims[d] == -1) {
        i.dims[d] = 32;
        any = true;
      }
  return any;
}

void run_all(onnx::graph g) {
  std::shared_ptr<const onnx::model> m;
  try {
    m = std::make_shared<const onnx::model>(std::move(g));
  } catch (const model_error&) {
    return;
  }
  const auto w = onnx::load_weights(*m);
  for (const uint32_t rows : {1, 3, 5}) {
    try {
      run(m, w, rows);
    } catch (const model_error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  onnx::use_operator_threads(1);
  const auto bytes = std::as_bytes(std::span{data, size});
  fix(bytes);
  try {
    auto g = onnx::parse_graph(bytes, "fuzz.onnx");
    auto shaped = g;
    run_all(std::move(g));
    if (give_shapes(shaped)) run_all(std::move(shaped));
  } catch (const model_error&) {
  }
  return 0;
}
