// A generation request as traces have it: when, how long, for whom; not what it said.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

struct traced_generation {
  duration at{};               ///< since the first one
  uint32_t prompt_tokens = 0;  ///< 1 or more, as the next
  uint32_t output_tokens = 0;
  std::vector<uint64_t> blocks = {};  ///< of the prompt, by content (Mooncake's hash_ids): equal beginnings
  std::string adapter = {};           ///< empty: the base model
  std::string tenant = {};
  std::optional<duration> slo = {};  ///< for the first token
  int32_t priority = 0;
  bool operator==(const traced_generation&) const = default;
};

}  // namespace troupe
