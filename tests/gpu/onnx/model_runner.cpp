// Runs models on the CPU for onnxruntime_test.py (random_model_server.hpp): with and without fusion.
#include <memory>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/random_model_server.hpp"

using namespace troupe;

namespace {

std::vector<std::byte> run_whole(const std::shared_ptr<const onnx::model>& m,
                                 std::span<const std::byte> input, uint32_t rows) {
  onnx::executor e(m, onnx::load_weights(*m));
  std::vector<std::byte> output(rows * output_row_bytes(m->signature()));
  const batch_part part{rows, input, output};
  e.run(rows, {&part, 1});
  return output;
}

/// Layer by layer, each in an executor of its own, as if on different machines.
std::vector<std::byte> run_layers(const std::shared_ptr<const onnx::model>& m,
                                  std::span<const std::byte> input, uint32_t rows) {
  const auto weights = onnx::load_weights(*m);
  onnx::activation at;
  for (const auto& spec : m->signature().inputs) {
    auto dims = spec.shape;
    dims.insert(dims.begin(), rows);
    const size_t bytes = rows * row_bytes(spec);
    at.push_back(onnx::make_tensor(spec.type, dims, input.first(bytes)));
    input = input.subspan(bytes);
  }
  for (size_t k = 0; k < m->layers().size(); ++k) {
    at = onnx::executor(m, weights).run({k, k + 1}, at);
  }
  std::vector<std::byte> output;
  for (const auto& t : at) output.insert(output.end(), t.data->data(), t.data->data() + t.bytes());
  return output;
}

onnx::random_model_answer run_both_ways(std::span<const std::byte> file, std::span<const std::byte> input,
                                        uint32_t rows) {
  const auto graph = onnx::parse_graph(file, "model");
  const auto fused = std::make_shared<const onnx::model>(graph);
  const auto plain = std::make_shared<const onnx::model>(graph, onnx::fusion::off);
  if (input.size() != rows * input_row_bytes(fused->signature()))
    throw model_error("the input has another size");
  onnx::random_model_answer out{fused->signature(),
                                {run_whole(fused, input, rows), run_whole(plain, input, rows)}};
  if (run_layers(fused, input, rows) != out.outputs[0])
    throw model_error("layer by layer it gives other bytes than at once");
  return out;
}

}  // namespace

int main() {
  onnx::use_operator_threads(1);
  return onnx::serve_random_models(run_both_ways);
}
