// The feed-forward layer of a mixture of experts: each row is computed by a few experts, which a router
// chooses. The rows of an expert are computed together.
#pragma once
#include <vector>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/llm/expert_routes.hpp"
#include "gpu/llm/kernel_timer.hpp"
#include "gpu/llm/linear.hpp"

namespace troupe::llm {

/// Weights of a layer, in its image. Empty if the layer is dense.
struct expert_layer {
  struct expert {
    linear gate_up, down;
  };
  linear router;  ///< [experts, hidden], in f32: rounded logits would choose other experts
  std::vector<expert> experts;
};

/// Computes such layers, with buffers of its own, which it reuses. The sums of a row are in the order of its
/// experts, so that its numbers do not depend on other rows.
class expert_computation {
 public:
  /// x: [rows, hidden], y: [rows, hidden], written.
  void run(const expert_layer& layer, const model_config& config, const float* x, size_t rows, float* y,
           const kernel_timer& timer);

 private:
  expert_routes routes_;
  std::vector<float> logits_;                               // [rows, experts]
  std::vector<float> gathered_, gate_up_, gated_, output_;  // [rows of an expert, ...]
};

}  // namespace troupe::llm
