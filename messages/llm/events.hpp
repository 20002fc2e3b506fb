// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <vector>

#include "messages/llm/generation.hpp"

namespace troupe {

/// Generation requests of a client, parsed and tokenised; several if it sent several prompts. The frontend
/// assigns their ids.
struct generation_request {
  std::vector<generation> asked;
  TROUPE_MESSAGE(generation_request, asked)
};

using llm_events = type_list<generation_request>;

}  // namespace troupe
