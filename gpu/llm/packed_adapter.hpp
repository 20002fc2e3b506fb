// An adapter in the form that a model's kernels want, where they want it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace troupe::llm {

struct adapter;

/// Made, and let go of, on the loader's thread, beside steps.
class packed_adapter {
 public:
  virtual ~packed_adapter() = default;
  virtual uint64_t bytes() const = 0;  ///< that it takes there
};

/// From one that was read; throws if it will not do, or if there is no room.
using adapter_packer = std::function<std::shared_ptr<const packed_adapter>(const adapter& read)>;

}  // namespace troupe::llm
