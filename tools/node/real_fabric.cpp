#include "tools/node/real_fabric.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "config/data_lane.hpp"
#include "config/security.hpp"
#include "transport/common/loopback.hpp"
#include "transport/fabric/paced_fabric.hpp"
#include "transport/fabric/tls_fabric.hpp"
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe {
namespace {

/// Wall-clock nanoseconds: larger in every later incarnation of a node, also across restarts.
incarnation_id incarnation_after(incarnation_id last) {
  const auto now = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return incarnation_id{std::max(now, last.value + 1)};
}

/// A secret that peers must include in every message to this process and in every frame to this incarnation.
/// It comes from the kernel, so that it cannot be guessed.
uint64_t draw_secret() {
  uint64_t secret = 0;
  if (getentropy(&secret, sizeof secret) != 0) throw std::runtime_error("the kernel gives no random bytes");
  return secret;
}

/// The network device for the data lane; empty: UCX selects one. The data lane of a node on the loopback host
/// must not be reachable from other hosts either.
std::string data_device(const node_spec& me) {
  if (!me.data_interface.empty()) return me.data_interface;
  return is_loopback(me.host) ? "lo" : "";
}

ucx_options ucx_options_of(const cluster_spec& cluster, const fabric_options& common) {
  ucx_options o;
  static_cast<fabric_options&>(o) = common;
  if (!has_ucx_port(cluster)) {
    for (auto& [name, value] : o.environment)
      if (name == "UCX_TLS") value = "posix,cma,self";
    return o;
  }
  const auto& me = cluster.nodes[o.self.value];
  if (const auto& ports = me.data_ports; ports.first != 0) {
    o.environment.emplace_back("UCX_TCP_PORT_RANGE",
                               std::to_string(ports.first) + "-" + std::to_string(ports.last));
  }
  if (const auto device = data_device(me); !device.empty())
    o.environment.emplace_back("UCX_NET_DEVICES", device);
  return o;
}

tls_fabric_options tls_options_of(const cluster_spec& cluster, const fabric_options& common) {
  const auto& me = cluster.nodes[common.self.value];
  tls_fabric_options o;
  static_cast<fabric_options&>(o) = common;
  o.files = tls_files_in(cluster.security.certificates, me.name);
  o.host = me.host;
  o.listen = me.listen;
  o.first_port = me.data_ports.first;
  o.last_port = me.data_ports.last;
  return o;
}

}  // namespace

bool has_ucx_port(const cluster_spec& cluster) {
  if (transport_of(cluster) != data_transport::ucx) return false;
  return std::getenv("UCX_TLS") != nullptr || !on_one_host(cluster.nodes);
}

real_fabric::real_fabric(const cluster_spec& cluster, node_id self, const clock& time)
    : first_(incarnation_after({})),
      refused_("data_connection_refused", time),
      carrier_(make(cluster, self, time)) {}

std::unique_ptr<fabric> real_fabric::make(const cluster_spec& cluster, node_id self, const clock& time) {
  auto made = make_carrier(cluster, self, time);
  if (!cluster.pace_links) return made;
  return make_paced_fabric(std::move(made), {self, interface_gbit_per_s(cluster, self)}, time);
}

std::unique_ptr<fabric> real_fabric::make_carrier(const cluster_spec& cluster, node_id self,
                                                  const clock& time) {
  fabric_options common;
  common.self = self;
  common.incarnation = first_;
  common.secret = draw_secret();
  if (transport_of(cluster) == data_transport::ucx)
    return make_ucx_fabric(ucx_options_of(cluster, common), time);
  auto o = tls_options_of(cluster, common);
  o.refused = [this](const std::string& from, const std::string& why) { refused_.add(from, why); };
  try {
    return make_tls_fabric(o, time);
  } catch (const std::exception& e) {
    throw std::runtime_error(
        fmt::format("node '{}': data_port: {}", cluster.nodes[self.value].name, e.what()));
  }
}

fabric_part real_fabric::part() const {
  return {*carrier_,
          [first = first_](incarnation_id last) {
            return last == incarnation_id{} ? first : incarnation_after(last);
          },
          [](incarnation_id) { return draw_secret(); }};
}

}  // namespace troupe
