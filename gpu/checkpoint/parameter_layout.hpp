// The parameters of a model by its configuration: names and shapes, layer by layer, and where a checkpoint
// stores them.
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
/// Name within a layer: "self_attn.q_proj".
std::string module_of(projection p);

/// Rows of a checkpoint's tensor.
struct stored_rows {
  std::string tensor;           ///< "model.layers.3.self_attn.qkv_proj.weight"
  std::vector<uint64_t> shape;  ///< of the whole tensor
  uint64_t first = 0;           ///< the parameter's first row
};
/// Where a checkpoint stores a parameter of `parameters_of`.
stored_rows place_of(const model_config& config, uint32_t layer, const parameter_shape& parameter);

/// A module of a layer that computes projections of the same input; it concatenates their outputs. Adapters
/// change modules.
struct projection_module {
  std::string name;  ///< within its layer: "self_attn.q_proj"
  std::vector<projection> projections;
};
/// In the order of their projections; experts are not among them.
std::vector<projection_module> modules_of(const model_config& config);

}  // namespace troupe::llm
