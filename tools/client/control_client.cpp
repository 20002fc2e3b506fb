#include "tools/client/control_client.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <future>
#include <map>
#include <memory>
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

using reply_promise = std::promise<caf::expected<command_reply>>;

/// Ends with the reply or an error, also once the endpoint has gone: CAF lets a request that was on its way
/// then run into its timeout.
caf::behavior carry(caf::event_based_actor* self, const caf::actor& endpoint, const command& asked,
                    std::chrono::milliseconds timeout, const std::shared_ptr<reply_promise>& to) {
  const auto end = [self, to](caf::expected<command_reply> with) {
    to->set_value(std::move(with));
    self->quit();
  };
  // The notice overtakes a reply that came before it, so it queues up behind that.
  self->set_down_handler([self](const caf::down_msg&) { self->send(self, caf::close_atom_v); });
  self->monitor(endpoint);
  self->request(endpoint, timeout, asked)
      .then([end](command_reply& r) { end(std::move(r)); }, [end](caf::error& e) { end(std::move(e)); });
  return {[end](caf::close_atom) { end(caf::sec::request_receiver_down); }};
}

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

console_reply control_client::ask(const node_spec& node, command asked, std::chrono::milliseconds timeout) {
  const auto failed = [&, token = asked.token](delivery_state how, std::string why) {
    return console_reply{{token, false, std::move(why)}, how};
  };
  const auto at = fmt::format("{}:{}", node.host, node.control_port);
  caf::scoped_actor self(state_->system);
  auto& endpoint = state_->endpoints[{node.host, node.control_port}];
  caf::error problem;
  if (!endpoint)
    self->request(state_->middleman.dialler(), timeout, caf::connect_atom_v, node.host, node.control_port)
        .receive([&](const caf::node_id&, const caf::strong_actor_ptr& there,
                     const std::set<std::string>&) { endpoint = caf::actor_cast<caf::actor>(there); },
                 [&](caf::error& e) { problem = std::move(e); });
  if (!endpoint && problem == control_middleman::refused)
    return failed(delivery_state::absent, fmt::format("no node answers at {}", at));
  if (!endpoint)
    return failed(delivery_state::undelivered,
                  fmt::format("no node can be reached at {}: it does not answer{}", at,
                              state_->tls ? ", or it rejects this certificate" : ""));
  const auto answered = std::make_shared<reply_promise>();
  state_->system.spawn(carry, endpoint, std::move(asked), timeout, answered);
  auto reply = answered->get_future().get();
  if (reply) return {std::move(*reply), delivery_state::answered};
  endpoint = nullptr;
  return failed(delivery_state::unanswered, reply.error() == caf::sec::request_timeout
                                                ? fmt::format("no answer within {} s", to_seconds(timeout))
                                                : fmt::format("the node at {} ended without an answer", at));
}

}  // namespace troupe
