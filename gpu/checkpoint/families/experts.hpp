// The keys of a mixture of experts that its families share.
#pragma once
#include "gpu/checkpoint/json_object.hpp"
#include "gpu/checkpoint/model_config.hpp"

namespace troupe::llm {

/// The number of experts (`num_experts` or `num_local_experts`) and of those that compute a token
/// (`num_experts_per_tok`), with these defaults.
expert_config read_experts(const json_object& config, uint32_t count, uint32_t per_token);

}  // namespace troupe::llm
