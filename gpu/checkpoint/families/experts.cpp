#include "gpu/checkpoint/families/experts.hpp"

#include <fmt/format.h>

namespace troupe::llm {

expert_config read_experts(const json_object& config, uint32_t count, uint32_t per_token) {
  constexpr uint64_t max_experts = 1024;
  const char* key = config.lacks("num_experts") ? "num_local_experts" : "num_experts";
  expert_config experts;
  experts.count = static_cast<uint32_t>(config.integer(key, 1, max_experts, count));
  experts.per_token = static_cast<uint32_t>(config.integer("num_experts_per_tok", 1, max_experts, per_token));
  if (experts.per_token > experts.count)
    config.fail("num_experts_per_tok",
                fmt::format("is {}: the model has only {} experts", experts.per_token, experts.count));
  return experts;
}

}  // namespace troupe::llm
