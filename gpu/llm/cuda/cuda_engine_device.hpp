// An engine's device on one or several GPUs. Its model is a cuda_decoder (gpu/llm/cuda/cuda_decoder.hpp) for
// each GPU. Only in builds with -DTROUPE_CUDA=ON.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "gpu/llm/computing_engine_device.hpp"

namespace troupe::llm {

struct cuda_engine_options {
  std::filesystem::path folder;     ///< of the checkpoint
  element weights = element::bf16;  ///< also of activations, KV cache and adapters; f16 or bf16
  uint64_t kv_bytes = 0;            ///< size limit of the KV cache, of all GPUs together; at least one block
  uint32_t block_tokens = 16;
  uint32_t gpu = 0;            ///< the first GPU, an index among those that the process sees
  uint32_t gpus = 1;           ///< tensor-parallel ranks; more than 1 need NCCL
  bool graphs = true;          ///< run decode steps as CUDA graphs
  uint32_t adapter_slots = 0;  ///< adapters resident or loading at once
  uint64_t adapter_bytes = 0;  ///< limit of the adapter store in host memory
  /// Row-major images that others load, for one GPU; null: the device reads the checkpoint. Throws
  /// model_error if there are none.
  std::function<std::shared_ptr<image_set>()> images = {};
};

/// Makes the process load all kernels and NCCL's connections at its start, for models on several GPUs. The
/// first use of a kernel may otherwise wait for a GPU whose collective waits for this one (CUDA's programming
/// guide on the hazards of lazy loading). Call before the process has other threads or uses a GPU.
void prepare_for_tensor_parallelism();

/// The options of a computing_engine_device that runs on GPUs.
computing_options on_cuda(cuda_engine_options options);

/// If CUDA reports an error (no such GPU, too little memory), the model is `unusable`, or the step or adapter
/// fails, with the reason. The device is `lost` after an error that leaves the GPU unusable for the process.
class cuda_engine_device final : public computing_engine_device {
 public:
  cuda_engine_device(const clock& c, std::function<void()> ready, cuda_engine_options options)
      : computing_engine_device(c, std::move(ready), on_cuda(std::move(options))) {}
};

}  // namespace troupe::llm
