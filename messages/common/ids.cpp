#include "messages/common/ids.hpp"

#include <array>

#include "messages/common/memory.hpp"

namespace troupe {
namespace {
constexpr std::array<std::string_view, role_count> names{
    "node",     "gateway",   "model_queue", "rank_arbiter", "gpu_worker", "console",   "metrics",
    "deployer", "extension", "placer",      "llm_gateway",  "llm_engine", "llm_router"};
}

std::string_view to_string(role r) { return names[static_cast<size_t>(r)]; }

bool parse_role(std::string_view name, role& out) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    out = static_cast<role>(i);
    return true;
  }
  return false;
}

std::string_view to_string(memory_kind k) {
  constexpr std::array<std::string_view, memory_kind_count> kinds{"host", "pinned", "device"};
  return kinds[static_cast<size_t>(k)];
}

std::string to_string(const address& a) {
  return "node " + std::to_string(a.node.value) + " / " + std::string(to_string(a.kind)) + " " +
         std::to_string(a.index);
}

}  // namespace troupe
