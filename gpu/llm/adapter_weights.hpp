// A LoRA adapter packed for the CPU kernels (gpu/kernels/sgmv.hpp).
#pragma once
#include <cstdint>
#include <vector>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/common/aligned_bytes.hpp"
#include "gpu/kernels/sgmv.hpp"
#include "gpu/llm/packed_adapter.hpp"

namespace troupe::llm {

class adapter_weights final : public packed_adapter {
 public:
  /// `layers`: of the transformer. Numbers are rounded to `type`.
  adapter_weights(const adapter& from, uint32_t layers, element type);

  /// Rank 0 if the adapter does not change the projection.
  const kernels::lora_weights& of(uint32_t layer, projection p) const { return parts_[index(layer, p)]; }
  /// The projections of all layers, by `index`.
  const kernels::lora_weights* parts() const { return parts_.data(); }
  static constexpr size_t index(uint32_t layer, projection p) {
    return size_t{layer} * projection_count + static_cast<size_t>(p);
  }
  uint32_t max_rank() const { return max_rank_; }
  uint64_t bytes() const override { return memory_.size(); }

 private:
  std::vector<kernels::lora_weights> parts_;  // [layers, projection_count]
  aligned_bytes memory_;
  uint32_t max_rank_ = 0;
};

}  // namespace troupe::llm
