// An engine's device on a GPU: its model is a cuda_decoder (gpu/llm/cuda/cuda_decoder.hpp). Only in builds
// with CUDA (-DTROUPE_CUDA=ON).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

#include "gpu/llm/computing_engine_device.hpp"

namespace troupe::llm {

struct cuda_engine_options {
  std::filesystem::path folder;     ///< of the checkpoint
  element weights = element::bf16;  ///< of everything on the device: weights, KV cache, adapters; f16 or bf16
  uint64_t kv_bytes = 0;  ///< of the KV cache, on all GPUs: as many blocks as go into it, at least one
  uint32_t block_tokens = 16;
  uint32_t gpu = 0;            ///< which one of this machine, from 0: the first one
  uint32_t gpus = 1;           ///< that share the model; from 2 on they sum by NCCL
  bool graphs = true;          ///< decode steps are CUDA graphs
  uint32_t adapter_slots = 0;  ///< adapters there, or on their way, at once
  uint64_t adapter_bytes = 0;  ///< of the adapters that are kept in host memory beside them
};

/// For a process that will have models on several GPUs, before it has other threads or uses a GPU: kernels
/// and NCCL's connections are there from the beginning. The first use of one may wait for a GPU, where a sum
/// waits for another one (CUDA's programming guide on lazy loading, its hazards).
void prepare_for_tensor_parallelism();

/// What makes a computing_engine_device one.
computing_options on_cuda(cuda_engine_options options);

/// What CUDA refuses (no such GPU, no room) makes the model `unusable`, or a step or an adapter fail, with
/// its reason. After an error that leaves the GPU of no use to this process every step fails.
class cuda_engine_device final : public computing_engine_device {
 public:
  cuda_engine_device(const clock& c, std::function<void()> ready, cuda_engine_options options)
      : computing_engine_device(c, std::move(ready), on_cuda(std::move(options))) {}
};

}  // namespace troupe::llm
