// A rank's shard of a tensor-parallel model (Megatron-LM: Shoeybi et al. 2019, §3). Attention heads and the
// intermediate width are split. q, k, v, gate and up are column-parallel; o and down are row-parallel. So a
// layer needs two all-reduces. An untied head is split by vocabulary_part; embedding and norms are
// replicated.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/model_config.hpp"
#include "gpu/checkpoint/parameters.hpp"

namespace troupe::llm {

class tensor_shard {
 public:
  /// Throws model_error if the model cannot be split evenly, or if its blocks differ from Llama's. With fewer
  /// KV heads than ranks, neighbouring ranks replicate a KV head.
  tensor_shard(const model_config& whole, uint32_t rank, uint32_t ranks);

  /// The shard as a model of its own, with the whole vocabulary. Decoders of all shards, with the outputs of
  /// o and down all-reduced and the logits all-gathered, equal a decoder of the whole model.
  const model_config& config() const { return config_; }
  /// Requires: a layer of the whole model. The result has no hash. Biases of o and down go to rank 0.
  layer_parameters of(const layer_parameters& whole) const;
  /// Requires: an adapter for the whole model. A is split along the inputs, B along the outputs.
  adapter of(const adapter& whole) const;

 private:
  struct range {
    uint32_t first = 0, count = 0;
  };
  /// This rank's part of the projection's outputs or inputs.
  range outputs(projection p) const;
  range inputs(projection p) const;

  model_config whole_, config_;
  uint32_t rank_ = 0;
  range heads_, kv_heads_, between_, tokens_;  // between: intermediate width
};

}  // namespace troupe::llm
