#include "messages/tensor/scheduling.hpp"

#include <array>

namespace troupe {

std::string_view to_string(refusal r) {
  constexpr std::array<std::string_view, refusal_count> names{
      "none", "late", "old_term", "busy", "unknown_model", "no_memory", "preempted"};
  return names[static_cast<size_t>(r)];
}

}  // namespace troupe
