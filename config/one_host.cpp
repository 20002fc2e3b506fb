#include "config/one_host.hpp"

#include <algorithm>

#include "transport/common/loopback.hpp"

namespace troupe {

bool on_one_host(const std::vector<node_spec>& nodes) {
  const auto same = [&](const node_spec& n) { return n.host == nodes.front().host; };
  return std::ranges::all_of(nodes, same) ||
         std::ranges::all_of(nodes, [](const node_spec& n) { return is_loopback(n.host); });
}

}  // namespace troupe
