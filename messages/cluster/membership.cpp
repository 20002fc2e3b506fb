#include "messages/cluster/membership.hpp"

#include <array>

namespace troupe {

std::string_view to_string(rejection_reason r) {
  constexpr std::array<std::string_view, rejection_reason_count> names{"none", "other_file", "other_version",
                                                                       "fenced", "other_engine"};
  return names[static_cast<size_t>(r)];
}

}  // namespace troupe
