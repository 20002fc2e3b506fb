#include "messages/llm/instance_phase.hpp"

#include <array>

namespace troupe {

std::string_view to_string(instance_phase p) {
  constexpr std::array<std::string_view, instance_phase_count> names{"both", "prefill", "decode"};
  return names[static_cast<size_t>(p)];
}

}  // namespace troupe
