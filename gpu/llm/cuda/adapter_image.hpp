// An adapter, packed for one copy to the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/kernels/cuda/lora_kernel.hpp"
#include "gpu/llm/adapter_weights.hpp"

namespace troupe::cuda {

class adapter_image {
 public:
  /// Requires: an adapter of this model, in 16 bits.
  adapter_image(const llm::adapter_weights& adapter, const llm::model_config& model);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Frees the bytes, once they are copied.
  void drop_bytes() { bytes_ = {}; }
  uint32_t max_ranks() const { return max_ranks_; }
  /// The matrices in a copy of the bytes at `base`, a multiple of 256: [layers, projections], in the order of
  /// `adapter_weights::index`.
  std::vector<lora_matrices> at(const std::byte* base) const;

 private:
  struct part {
    size_t a = 0, b = 0;
    uint32_t ranks = 0;
    float scale = 1;
  };
  std::vector<std::byte> bytes_;
  std::vector<part> parts_;
  uint32_t max_ranks_ = 0;
};

}  // namespace troupe::cuda
