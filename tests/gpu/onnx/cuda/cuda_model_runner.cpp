// Runs models on an emulated GPU for onnxruntime_test.py (tests/gpu/onnx/random_model_server.hpp): channels
// first, with bias, residual and ReLU fused into the library's convolution; and channels last, with a kernel
// of ours for them. Products are exact.
#include "gpu/device/cuda_tensor_model.hpp"
#include "gpu/onnx/loader.hpp"
#include "tests/gpu/onnx/random_model_server.hpp"
#ifdef __CUDACC__
#include "gpu/kernels/cuda/cuda_machine.cuh"
#else
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#endif

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Runs twice, the second time as a graph. Both give the same outputs.
template <class Machine>
std::vector<std::byte> run_on(std::unique_ptr<Machine> machine, const std::shared_ptr<const onnx::model>& m,
                              std::span<const std::byte> input, uint32_t rows, bool other_way) {
  tensor_model_options options;
  options.tf32 = false;
  options.convolutions =
      other_way ? tensor_model_options::layout::channels_last : tensor_model_options::layout::channels_first;
  cuda_tensor_model<Machine> on_gpu(std::move(machine), m, options);
  std::vector<std::byte> outputs[2];
  for (auto& output : outputs) {
    output.resize(rows * output_row_bytes(m->signature()));
    const batch_part part{rows, input, output};
    on_gpu.run(rows, {&part, 1}, nullptr);
  }
  if (outputs[0] != outputs[1]) throw model_error("as a graph it gives other bytes");
  return outputs[0];
}

std::vector<std::byte> run(const std::shared_ptr<const onnx::model>& m, std::span<const std::byte> input,
                           uint32_t rows, bool other_way) {
#ifdef __CUDACC__
  if (runs_sm90_code()) return run_on(std::make_unique<cuda_machine<8>>(), m, input, rows, other_way);
  return run_on(std::make_unique<cuda_machine<1>>(), m, input, rows, other_way);
#else
  auto machine = std::make_unique<emulated_machine>(rows);
  machine->fuse_convolutions(!other_way);
  return run_on(std::move(machine), m, input, rows, other_way);
#endif
}

onnx::random_model_answer run_both_ways(std::span<const std::byte> file, std::span<const std::byte> input,
                                        uint32_t rows) {
  const auto graph = onnx::parse_graph(file, "model");
  const auto fused = std::make_shared<const onnx::model>(graph);
  const auto plain = std::make_shared<const onnx::model>(graph, onnx::fusion::off);
  if (input.size() != rows * input_row_bytes(fused->signature()))
    throw model_error("the input has another size");
  return {fused->signature(), {run(fused, input, rows, false), run(plain, input, rows, true)}};
}

}  // namespace

int main() { return onnx::serve_random_models(run_both_ways); }
