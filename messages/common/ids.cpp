#include "messages/common/ids.hpp"

#include <array>

#include "messages/common/memory.hpp"

namespace troupe {

std::string_view to_string(memory_kind k) {
  constexpr std::array<std::string_view, memory_kind_count> kinds{"host", "pinned", "device"};
  return kinds[static_cast<size_t>(k)];
}

std::string to_string(const address& a) {
  return "node " + std::to_string(a.node.value) + " / " + std::string(to_string(a.kind)) + " " +
         std::to_string(a.index);
}

}  // namespace troupe
