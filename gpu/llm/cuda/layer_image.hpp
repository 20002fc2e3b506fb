// A layer of a checkpoint, and an adapter, packed for one copy to the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/kernels/cuda/lora_kernel.hpp"
#include "gpu/llm/adapter_weights.hpp"
#include "gpu/llm/cuda/decoder_shape.hpp"

namespace troupe::cuda {

/// A layer of the checkpoint, from layer 0 (embedding) to the last one (norm and head).
class layer_image {
 public:
  /// Rounds to `type`, f16 or bf16. `layer`: of checkpoint::read or tensor_shard::of.
  layer_image(const llm::layer_parameters& layer, element type);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Addresses in a copy of the bytes at `base`, a multiple of 256. Null: the layer has no such parameter.
  layer_pointers at(const std::byte* base) const;
  const void* embedding(const std::byte* base) const {
    return place(base, embedding_);
  }  ///< [vocabulary, hidden]
  const void* final_norm(const std::byte* base) const { return place(base, final_norm_); }  ///< [hidden]
  const void* head(const std::byte* base) const { return place(base, head_); }  ///< [vocabulary, hidden]

 private:
  static constexpr size_t nowhere = static_cast<size_t>(-1);
  size_t add(const llm::layer_parameters& layer, std::initializer_list<std::string_view> names,
             std::string_view suffix, element type);
  static const void* place(const std::byte* base, size_t offset) {
    return offset == nowhere ? nullptr : base + offset;
  }

  std::vector<std::byte> bytes_;
  size_t input_norm_, post_norm_, qkv_, qkv_bias_, o_, o_bias_, gate_up_, gate_up_bias_, down_, down_bias_;
  size_t embedding_, final_norm_, head_;
};

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
