#include "messages/llm/instance_stage.hpp"

#include <array>

namespace troupe {

std::string_view to_string(instance_stage s) {
  constexpr std::array<std::string_view, instance_stage_count> names{"idle", "loading", "serving", "draining",
                                                                     "parked"};
  return names[static_cast<size_t>(s)];
}

}  // namespace troupe
