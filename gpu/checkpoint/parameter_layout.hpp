// The parameters of a model by its configuration: names and shapes, layer by layer.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/model_config.hpp"

namespace troupe::llm {

struct parameter_shape {
  std::string name;  ///< within its layer
  std::vector<uint64_t> shape;
};

/// In the order of the canonical blob. Requires: layer < config.layers + 2.
std::vector<parameter_shape> parameters_of(const model_config& config, uint32_t layer);
/// Prefix of a parameter's name in a checkpoint: "model.layers.3.".
std::string prefix_of(const model_config& config, uint32_t layer, std::string_view parameter);
/// Name within a layer: "self_attn.q_proj".
std::string module_of(projection p);

}  // namespace troupe::llm
