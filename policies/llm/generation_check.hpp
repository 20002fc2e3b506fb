// Check of a generation request against the model that is to generate it. Gateways check requests, too, but
// perhaps against the status of an earlier engine.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "messages/llm/generation.hpp"

namespace troupe::llm {

struct model_limits {
  uint32_t vocabulary = 0;     ///< tokens are [0, n)
  uint32_t max_positions = 0;  ///< of a sequence
  uint32_t adapter_slots = 0;
};

/// Message for the client; nothing: the request can be generated.
std::optional<std::string> problem_with(const generation& g, const model_limits& limits);

}  // namespace troupe::llm
