#include "gpu/llm/cuda/cuda_engine_device.hpp"

#include <cstdlib>
#include <numeric>
#include <string>

#include "gpu/common/model_error.hpp"
#include "gpu/kernels/cuda/cuda_machine.cuh"
#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "gpu/llm/parallel_model.hpp"

namespace troupe::llm {
namespace {

template <uint32_t Cluster, element E>
std::unique_ptr<step_model> rank_model_on(const cuda_engine_options& o, const model_config& config,
                                          std::shared_ptr<cuda::device_group> group, uint32_t rank) {
  using machine = cuda::cuda_machine<Cluster>;
  return std::make_unique<cuda::cuda_decoder<machine, E>>(
      std::make_unique<machine>(std::move(group), rank), config,
      cuda::cuda_decoder_options{o.kv_bytes / o.gpus, o.block_tokens, o.adapter_slots, o.graphs});
}

/// Binds the calling thread, which runs the steps, to the rank's GPU. Errors name the GPU.
std::unique_ptr<step_model> make_rank_model(const cuda_engine_options& o, const model_config& config,
                                            std::shared_ptr<cuda::device_group> group, uint32_t rank) {
  try {
    cuda::check(cudaSetDevice(static_cast<int>(o.gpu + rank)), "the GPU");
    const auto make =
        cuda::runs_sm90_code()
            ? (o.weights == element::f16 ? rank_model_on<8, element::f16> : rank_model_on<8, element::bf16>)
            : (o.weights == element::f16 ? rank_model_on<1, element::f16> : rank_model_on<1, element::bf16>);
    return make(o, config, std::move(group), rank);
  } catch (const cuda::cuda_error& e) {
    throw std::runtime_error("GPU " + std::to_string(o.gpu + rank) + " cannot take the model " + o.folder.string() +
                      ": " + e.what() + (e.out_of_memory() ? "; give the KV cache less" : ""));
  }
}

std::unique_ptr<step_model> make_model(const cuda_engine_options& o, const model_config& config) {
  if (o.gpus == 1) return make_rank_model(o, config, nullptr, 0);
  std::vector<int> devices(o.gpus);
  std::iota(devices.begin(), devices.end(), static_cast<int>(o.gpu));
  const auto group = std::make_shared<cuda::device_group>(devices);
  return std::make_unique<parallel_model>(
      config, o.gpus,
      [&](const model_config& share, uint32_t rank) { return make_rank_model(o, share, group, rank); },
      [group] { group->abort(); });
}

}  // namespace

void prepare_for_tensor_parallelism() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // unless the user has set it
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
}

computing_options on_cuda(cuda_engine_options o) {
  computing_options out;
  out.folder = o.folder, out.adapter_slots = o.adapter_slots, out.adapter_bytes = o.adapter_bytes;
  out.images = o.images;
  out.make = [o = std::move(o)](const model_config& config) { return make_model(o, config); };
  return out;
}

}  // namespace troupe::llm
