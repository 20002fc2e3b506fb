// A generation request of a trace: arrival, lengths, adapter and tenant, but no text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

struct traced_generation {
  duration at{};               ///< since the first request
  uint32_t prompt_tokens = 0;  ///< at least 1, as the next
  uint32_t output_tokens = 0;
  std::vector<uint64_t> blocks = {};  ///< of the prompt, hashed (Mooncake's hash_ids); equal: common prefix
  std::string adapter = {};           ///< empty: the base model
  std::string tenant = {};
  std::optional<duration> slo = {};  ///< for the first token
  int32_t priority = 0;
  bool operator==(const traced_generation&) const = default;
};

}  // namespace troupe
