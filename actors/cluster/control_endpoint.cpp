#include "actors/cluster/control_endpoint.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "policies/cluster/hello_check.hpp"
#include "transport/common/tcp_probe.hpp"

namespace troupe {
namespace {

class endpoint_actor final : public caf::event_based_actor {
 public:
  endpoint_actor(caf::actor_config& config, caf::actor dialler, const cluster_spec& cluster, node_id self,
                 on_broken broken)
      : event_based_actor(config),
        dialler_(std::move(dialler)),
        cluster_(cluster),
        self_(self),
        peers_(cluster.nodes.size()) {
    report_exceptions(*this, std::move(broken));
  }

  caf::behavior make_behavior() override {
    set_down_handler([this](caf::down_msg& d) { on_down(d.source); });
    set_default_handler(caf::drop);
    return {[this](const open_endpoint& o) {
              node_ = o.node;
              console_ = o.console;
            },
            [this](outgoing_frame& o) { dispatch(std::move(o.frame)); },
            [this](const probe_result& k) { on_probe(k); }, [this](const control_frame& f) { on_frame(f); },
            [this](const command& c) -> caf::result<command_reply> {
              auto promise = make_response_promise<command_reply>();
              if (!console_) {
                promise.deliver(command_reply{c.token, false, "this node is still starting; try again"});
                return promise;
              }
              request(console_, caf::infinite, c).then([promise](command_reply& r) mutable {
                promise.deliver(r);
              });
              return promise;
            }};
  }
  const char* name() const override { return "control_endpoint"; }
  /// Unprocessed messages of CAF's broker keep the endpoint until the broker is destroyed. Before that, the
  /// system waits for the threads of detached actors, so the endpoint must not keep these actors.
  void on_exit() override {
    dialler_ = nullptr;
    node_ = nullptr;
    console_ = nullptr;
  }

 private:
  struct peer {
    caf::actor endpoint;
    incarnation_id incarnation;  ///< of its newest frame
    bool dialling = false;
    control_frame first;  ///< sent once it is dialled
  };
  static constexpr duration probe_timeout = 1s;

  void dispatch(control_frame frame) {
    const auto to = frame.to.node;
    if (to.value >= peers_.size() || to == self_) return;
    auto& p = peers_[to.value];
    if (p.endpoint)
      send(p.endpoint, std::move(frame));
    else if (to < self_)
      dial(to, std::move(frame));
  }

  /// The dialler dials one peer at a time, and takes seconds if a host has no power. So another thread probes
  /// the port first.
  void dial(node_id to, control_frame frame) {
    auto& p = peers_[to.value];
    if (p.dialling) return;
    p.dialling = true;
    p.first = std::move(frame);
    const auto& there = cluster_.nodes[to.value];
    system().spawn<caf::detached>(
        [endpoint = caf::actor_cast<caf::actor>(this), to, host = there.host, port = there.control_port] {
          caf::anon_send(endpoint, probe_result{to, accepts_connections(host, port, probe_timeout)});
        });
  }

  void on_probe(const probe_result& k) {
    const auto to = k.node;
    auto& p = peers_[to.value];
    auto frame = std::move(p.first);
    p.first = {};
    if (!k.accepts) {
      p.dialling = false;
      return;
    }
    const auto& there = cluster_.nodes[to.value];
    request(dialler_, std::chrono::seconds(5), caf::connect_atom_v, there.host, there.control_port)
        .then(
            [this, to, frame](const caf::node_id&, const caf::strong_actor_ptr& endpoint,
                              const std::set<std::string>&) {
              auto& q = peers_[to.value];
              q.dialling = false;
              if (!endpoint) return;
              adopt(q, caf::actor_cast<caf::actor>(endpoint));
              send(q.endpoint, frame);
            },
            [this, to](const caf::error&) { peers_[to.value].dialling = false; });
  }

  void adopt(peer& p, caf::actor endpoint) {
    if (p.endpoint == endpoint) return;
    if (p.endpoint) demonitor(p.endpoint);
    p.endpoint = std::move(endpoint);
    monitor(p.endpoint);
  }

  void on_frame(const control_frame& f) {
    if (f.from.node.value >= peers_.size() || f.from.node == self_ || f.to.node != self_) return;
    if (f.body.match_elements<hello>()) {
      // A node with another cluster file is answered here and does not replace the real peer.
      if (auto no = check_hello(cluster_, self_, f.body.get_as<hello>(0))) {
        if (auto stranger = current_sender())
          send(caf::actor_cast<caf::actor>(stranger),
               control_frame{{self_, {}, role::node, 0}, f.from, caf::make_message(std::move(*no))});
        return;
      }
    }
    // Commands are independent of membership, so they set no incarnation here.
    if (f.to.kind == role::console) {
      if (console_) caf::anon_send(console_, f);
      return;
    }
    auto& p = peers_[f.from.node.value];
    p.incarnation = f.from.incarnation;
    if (auto endpoint = current_sender()) adopt(p, caf::actor_cast<caf::actor>(endpoint));
    if (node_) caf::anon_send(node_, f);
  }

  void on_down(const caf::actor_addr& gone) {
    for (uint32_t i = 0; i < peers_.size(); ++i) {
      auto& p = peers_[i];
      if (!p.endpoint || p.endpoint.address() != gone) continue;
      p.endpoint = nullptr;
      if (node_) caf::anon_send(node_, peer_lost{node_id{i}, p.incarnation, "the control connection broke"});
    }
  }

  caf::actor dialler_;
  const cluster_spec& cluster_;
  const node_id self_;
  node_protocol node_;
  caf::actor console_;
  std::vector<peer> peers_;
};

}  // namespace

control_endpoint::control_endpoint(caf::actor_system& system, std::shared_ptr<const tls_context> tls,
                                   const clock& time, const cluster_spec& cluster, node_id self,
                                   on_broken broken)
    : system_(system), middleman_(system, std::move(tls), time) {
  const auto& me = cluster.nodes[self.value];
  actor_ = system.spawn<endpoint_actor>(middleman_.dialler(), cluster, self, std::move(broken));
  caf::scoped_actor asking(system);
  asking
      ->request(middleman_.listener(), caf::infinite, caf::publish_atom_v, me.control_port,
                caf::actor_cast<caf::strong_actor_ptr>(actor_), std::set<std::string>{}, me.listen, true)
      .receive([this](uint16_t port) { port_ = port; }, [](const caf::error&) {});
  if (port_ == 0) {
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    throw std::runtime_error(fmt::format(
        "node '{}', control_port: {}; free the port, or give another control_port or listen address", me.name,
        listening_problem(me.listen, me.control_port)));
  }
}

control_endpoint::~control_endpoint() { close(); }

void control_endpoint::close() {
  const auto port = std::exchange(port_, uint16_t{0});
  if (port == 0) return;
  caf::scoped_actor asking(system_);
  asking->request(middleman_.listener(), caf::infinite, caf::unpublish_atom_v, actor_.address(), port)
      .receive([] {}, [](const caf::error&) {});
  caf::anon_send_exit(actor_, caf::exit_reason::kill);
}

void control_endpoint::open(node_protocol node, caf::actor console) {
  caf::anon_send(actor_, open_endpoint{std::move(node), std::move(console)});
}

void control_endpoint::send(control_frame frame) { caf::anon_send(actor_, outgoing_frame{std::move(frame)}); }

}  // namespace troupe
