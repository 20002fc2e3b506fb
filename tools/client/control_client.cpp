#include "tools/client/control_client.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "actors/cluster/control_middleman.hpp"
#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/system_config.hpp"
#include "tools/common/control_certificates.hpp"

namespace troupe {
namespace {

struct tool_config final : threaded_config {
  tool_config() : threaded_config(1) { prepare_control_lane(*this); }
};

}  // namespace

struct control_client::state {
  explicit state(const cluster_spec& cluster)
      : tls(control_certificates(cluster, operator_name, "")), middleman(system, tls, time) {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that may be closed
  }

  machine_clock time;
  tool_config config;
  caf::actor_system system{config};
  std::shared_ptr<const tls_context> tls;
  control_middleman middleman;
  std::map<std::pair<std::string, uint16_t>, caf::actor> endpoints;  ///< of nodes that answered last time
};

control_client::control_client(const cluster_spec& cluster) : state_(std::make_unique<state>(cluster)) {}

control_client::~control_client() = default;

command_reply control_client::ask(const node_spec& node, command asked, std::chrono::milliseconds timeout) {
  const auto failed = [&](std::string why) { return command_reply{asked.token, false, std::move(why)}; };
  caf::scoped_actor self(state_->system);
  auto& endpoint = state_->endpoints[{node.host, node.control_port}];
  if (!endpoint)
    self->request(state_->middleman.dialler(), timeout, caf::connect_atom_v, node.host, node.control_port)
        .receive([&](const caf::node_id&, const caf::strong_actor_ptr& there,
                     const std::set<std::string>&) { endpoint = caf::actor_cast<caf::actor>(there); },
                 [](const caf::error&) {});
  if (!endpoint)
    return failed(fmt::format("no node answers at {}:{}{}", node.host, node.control_port,
                              state_->tls ? ", or it rejects this certificate" : ""));
  auto reply = failed(fmt::format("no answer within {} s", to_seconds(timeout)));
  self->request(endpoint, timeout, std::move(asked))
      .receive([&](command_reply& r) { reply = std::move(r); },
               [&](const caf::error&) { endpoint = nullptr; });
  return reply;
}

}  // namespace troupe
