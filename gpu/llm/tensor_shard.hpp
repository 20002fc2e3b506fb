// A rank's share of a model that several devices compute together (Megatron-LM: Shoeybi et al. 2019, §3).
// Heads are shared out, and so is the width between gate/up and down: q, k, v, gate and up give a part of
// their outputs, o and down take that part and give addends of all of theirs. So a layer needs two sums over
// the ranks. Of a head of its own each has the rows of its vocabulary_part; embedding and norms are whole.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/model_config.hpp"
#include "gpu/checkpoint/parameters.hpp"

namespace troupe::llm {

class tensor_shard {
 public:
  /// Throws model_error if the model cannot be shared out evenly. Where there are fewer kv heads than ranks,
  /// neighbours have the same one.
  tensor_shard(const model_config& whole, uint32_t rank, uint32_t ranks);

  /// The share, as a model of its own: decoders of all of them that sum what o and down give, and put their
  /// logits together, are one of the whole. The vocabulary is whole.
  const model_config& config() const { return config_; }
  /// Requires: a layer of the whole model. The result has no hash. Biases of o and down go to the first rank.
  layer_parameters of(const layer_parameters& whole) const;
  /// Requires: an adapter for the whole model. A is cut where the inputs are, B where the outputs are.
  adapter of(const adapter& whole) const;

 private:
  struct range {
    uint32_t first = 0, count = 0;
  };
  /// Of the projection's outputs or inputs.
  range outputs(projection p) const;
  range inputs(projection p) const;

  model_config whole_, config_;
  uint32_t rank_ = 0;
  range heads_, kv_heads_, between_, tokens_;  // between: gate/up and down
};

}  // namespace troupe::llm
