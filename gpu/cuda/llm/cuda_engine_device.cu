#include "gpu/cuda/llm/cuda_engine_device.hpp"

#include <string>

#include "gpu/cuda/cuda_machine.cuh"
#include "gpu/cuda/llm/cuda_model.hpp"

namespace troupe::llm {
namespace {

std::unique_ptr<step_model> make_model(const cuda_engine_options& o, const model_config& config) {
  try {
    cuda::check(cudaSetDevice(static_cast<int>(o.gpu)), "the GPU");  // of this thread, which runs the steps
    auto machine = std::make_unique<cuda::cuda_machine>();
    const cuda::cuda_model_options options{o.kv_bytes, o.block_tokens, o.adapter_slots, true};
    if (o.weights == element::f16)
      return std::make_unique<cuda::cuda_model<cuda::cuda_machine, element::f16>>(std::move(machine), config,
                                                                                  options);
    return std::make_unique<cuda::cuda_model<cuda::cuda_machine, element::bf16>>(std::move(machine), config,
                                                                                 options);
  } catch (const cuda::cuda_error& e) {
    throw model_error("GPU " + std::to_string(o.gpu) + " cannot take the model " + o.folder.string() + ": " +
                      e.what() + (e.out_of_memory() ? "; give the KV cache less" : ""));
  }
}

computing_options computing(cuda_engine_options o) {
  computing_options out;
  out.folder = o.folder, out.adapter_slots = o.adapter_slots, out.adapter_bytes = o.adapter_bytes;
  out.make = [o = std::move(o)](const model_config& config) { return make_model(o, config); };
  return out;
}

}  // namespace

cuda_engine_device::cuda_engine_device(const clock& c, std::function<void()> ready,
                                       cuda_engine_options options)
    : computing_engine_device(c, std::move(ready), computing(std::move(options))) {}

}  // namespace troupe::llm
