// An engine's device on the CPU's cores: its model is a decoder (gpu/llm/decoder.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

#include "gpu/common/element.hpp"
#include "gpu/llm/computing_engine_device.hpp"

namespace troupe::llm {

struct cpu_engine_options {
  std::filesystem::path folder;    ///< of the checkpoint
  element weights = element::f32;  ///< what projections and adapters are kept as
  element kv = element::f32;
  uint64_t kv_bytes = 0;       ///< of the KV cache: as many blocks as go into it, at least one
  uint32_t block_tokens = 16;  ///< 1 to 4096
  int threads = 1;             ///< of OpenMP, for each kernel
  uint32_t adapter_slots = 0;  ///< adapters there, or on their way, at once
  uint64_t adapter_bytes = 0;  ///< of the adapters that are kept in host memory beside them
};

/// What makes a computing_engine_device one.
computing_options on_cpu(cpu_engine_options options);

/// A step that throws has failed; the device goes on.
class cpu_engine_device final : public computing_engine_device {
 public:
  cpu_engine_device(const clock& c, std::function<void()> ready, cpu_engine_options options);
};

}  // namespace troupe::llm
