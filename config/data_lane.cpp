#include "config/data_lane.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/sections.hpp"
#include "transport/common/loopback.hpp"

namespace troupe {

bool on_one_host(const std::vector<node_spec>& nodes) {
  const auto same = [&](const node_spec& n) { return n.host == nodes.front().host; };
  return std::ranges::all_of(nodes, same) ||
         std::ranges::all_of(nodes, [](const node_spec& n) { return is_loopback(n.host); });
}

data_transport transport_of(const cluster_spec& cluster) {
  const auto chosen = cluster.data_lane.transport;
  if (chosen != data_transport::automatic) return chosen;
  const bool secured = !cluster.security.certificates.empty();
  return secured && !on_one_host(cluster.nodes) ? data_transport::tls : data_transport::ucx;
}

data_lane_spec read_data_lane(section& root, const security_spec& security) {
  constexpr std::array<std::string_view, 3> transports{"auto", "ucx", "tls"};  // as in `data_transport`
  auto& s = root.table_or_empty("data_lane");
  data_lane_spec out;
  out.transport = static_cast<data_transport>(s.choice("transport", transports, 0));
  if (out.transport == data_transport::tls && security.certificates.empty())
    s.refuse("transport",
             "needs certificates; make them (troupe certs) and give their folder in [security] certificates");
  return out;
}

}  // namespace troupe
