// A LoRA adapter packed for a model's kernels, in the memory that they read.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace troupe::llm {

struct adapter;

/// Made and destroyed on the loader's thread, concurrently with steps.
class packed_adapter {
 public:
  virtual ~packed_adapter() = default;
  virtual uint64_t bytes() const = 0;  ///< size in that memory
};

/// Packs an adapter that was read. Throws if it is not usable, or if there is no room.
using adapter_packer = std::function<std::shared_ptr<const packed_adapter>(const adapter& read)>;

}  // namespace troupe::llm
