#include "messages/deployment/deployment.hpp"

#include <array>

namespace troupe {

std::string_view to_string(profile_origin o) {
  constexpr std::array<std::string_view, profile_origin_count> names{"given", "file", "measured"};
  return names[static_cast<size_t>(o)];
}

std::string_view to_string(deployment_state s) {
  constexpr std::array<std::string_view, deployment_state_count> names{"deployed", "retiring", "undeployed"};
  return names[static_cast<size_t>(s)];
}

}  // namespace troupe
