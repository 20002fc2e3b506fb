#include "messages/llm/generation.hpp"

#include <array>

namespace troupe {

std::string_view to_string(finish_reason r) {
  constexpr std::array<std::string_view, finish_reason_count> names{"none", "stop", "length"};
  return names[static_cast<size_t>(r)];
}

std::string_view to_string(adapter_answer a) {
  constexpr std::array<std::string_view, adapter_answer_count> names{"done", "exists", "unknown", "refused"};
  return names[static_cast<size_t>(a)];
}

}  // namespace troupe
