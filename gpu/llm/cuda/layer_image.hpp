// A layer of a checkpoint, and an adapter, as bytes that go to the device in one piece.
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

/// The transformer's layers; also the first (embedding) and the last one (norm, head).
class layer_image {
 public:
  /// Numbers are rounded to `type`, f16 or bf16. Requires: a layer as `checkpoint::read` gives it.
  layer_image(const llm::layer_parameters& layer, element type);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Where things are once the bytes are at `base`, which is a multiple of 256.
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
  /// Requires: its matrices are of 16 bits, and for this model.
  adapter_image(const llm::adapter_weights& adapter, const llm::model_config& model);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// They are elsewhere now.
  void drop_bytes() { bytes_ = {}; }
  uint32_t max_ranks() const { return max_ranks_; }
  /// [layers, projections], as `adapter_weights::index` numbers them, once the bytes are at `base`, a
  /// multiple of 256.
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
