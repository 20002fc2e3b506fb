// An engine's device on CPU cores. Its model is a decoder (gpu/llm/decoder.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "gpu/common/element.hpp"
#include "gpu/llm/computing_engine_device.hpp"
#include "gpu/llm/image_memory.hpp"

namespace troupe::llm {

class image_library;
class image_set;

struct cpu_engine_options {
  std::filesystem::path folder;    ///< of the checkpoint
  element weights = element::f32;  ///< stored type of projections and adapters
  element kv = element::f32;
  uint64_t kv_bytes = 0;       ///< of the KV cache, rounded down to blocks, at least one
  uint32_t block_tokens = 16;  ///< 1 to 4096
  int threads = 1;             ///< of OpenMP, for each kernel
  uint32_t adapter_slots = 0;  ///< adapters resident or loading at once
  uint64_t adapter_bytes = 0;  ///< limit of the adapter store in host memory
  /// Shares the weights of engines of the same checkpoint and type; null: this one has its own.
  std::shared_ptr<image_library> library = {};
  image_allocator kv_memory = heap_image_memory;
  /// Instead: images that others load. Throws model_error if there are none.
  std::function<std::shared_ptr<image_set>()> images = {};
};

/// Options with which a computing_engine_device runs on the CPU.
computing_options on_cpu(cpu_engine_options options);

/// After a step that throws the device goes on.
class cpu_engine_device final : public computing_engine_device {
 public:
  cpu_engine_device(const clock& c, std::function<void()> ready, cpu_engine_options options);
};

}  // namespace troupe::llm
