#include "messages/llm/routing.hpp"

#include <array>

namespace troupe {

std::string_view to_string(route_reason r) {
  constexpr std::array<std::string_view, route_reason_count> names{"placed", "preempted", "drained",
                                                                   "consolidated", "asked"};
  return names[static_cast<size_t>(r)];
}

}  // namespace troupe
