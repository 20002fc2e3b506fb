#include "actors/cluster/control_middleman.hpp"

#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "actors/cluster/control_connection.hpp"
#include "actors/cluster/refused_connections.hpp"
#include "transport/common/tcp_connect.hpp"
#include "transport/tls/tls_handshaker.hpp"

namespace troupe {
namespace {

namespace network = caf::io::network;
using session_ptr = std::unique_ptr<tls_session>;

/// Timeouts of an outgoing connection, for each address of its host, and of its handshake. They should be
/// below `node_timeout_ms`: a host that is cut off or frozen delays the dialling of all others, and the end
/// of this process, by them.
constexpr duration connect_limit = 2s, handshake_limit = 2s;

/// Listens at the control port. With TLS, CAF gets a connection only after its handshake.
class acceptor final : public network::doorman_impl {
 public:
  acceptor(network::default_multiplexer& loop, network::native_socket socket,
           std::shared_ptr<const tls_context> tls, const clock& time,
           std::shared_ptr<control_connections> all)
      : doorman_impl(loop, socket),
        tls_(std::move(tls)),
        connections_(std::move(all)),
        own_ref_(std::make_shared<acceptor_ref>()),
        refused_("control_connection_refused", time) {
    own_ref_->to = this;
    if (tls_)
      handshaker_ = std::make_unique<tls_handshaker>(
          *tls_, time, [this](const std::string& from, const std::string& why) { refused_.add(from, why); });
  }

  ~acceptor() override {
    std::lock_guard lock(own_ref_->mutex);
    own_ref_->to = nullptr;
  }

  bool new_connection() override {
    if (detached()) return false;
    const auto socket = acceptor_.accepted_socket();
    network::nonblocking(socket, true);
    if (!handshaker_) return admit(socket, nullptr);
    handshaker_->start(socket, [ref = own_ref_, &loop = acceptor_.backend()](int accepted, session_ptr tls) {
      // From the handshaker's thread to the loop's; the acceptor may be destroyed by then.
      loop.post([ref, accepted, tls = std::make_shared<session_ptr>(std::move(tls))] {
        std::lock_guard lock(ref->mutex);
        if (ref->to == nullptr || !ref->to->admit(accepted, std::move(*tls))) network::close_socket(accepted);
      });
    });
    return true;
  }

 private:
  struct acceptor_ref {
    std::mutex mutex;
    acceptor* to = nullptr;
  };

  bool admit(network::native_socket socket, session_ptr tls) {
    if (detached()) return false;
    auto& loop = acceptor_.backend();
    auto fresh = make_control_connection(loop, socket, std::move(tls), connections_);
    const auto handle = fresh->hdl();
    parent()->add_scribe(std::move(fresh));
    doorman::new_connection(&loop, handle);
    return true;
  }

  const std::shared_ptr<const tls_context> tls_;
  const std::shared_ptr<control_connections> connections_;
  const std::shared_ptr<acceptor_ref> own_ref_;
  refused_connections refused_;                 // of the handshaker's thread
  std::unique_ptr<tls_handshaker> handshaker_;  // last: its thread ends before the rest is destroyed
};

network::default_multiplexer& loop_of(caf::actor_system& system) {
  return static_cast<network::default_multiplexer&>(system.middleman().backend());
}

/// Shared by the two actors.
struct lane_end {
  std::shared_ptr<const tls_context> tls;
  const clock& time;
  std::shared_ptr<control_connections> connections;
};

class listening final : public caf::io::middleman_actor_impl {
 public:
  listening(caf::actor_config& config, caf::actor broker, lane_end end)
      : middleman_actor_impl(config, std::move(broker)), end_(std::move(end)) {}
  const char* name() const override { return "control_listener"; }

 protected:
  caf::expected<caf::io::doorman_ptr> open(uint16_t port, const char* address, bool reuse) override {
    auto socket = network::new_tcp_acceptor_impl(port, address, reuse);
    if (!socket) return std::move(socket.error());
    return caf::make_counted<acceptor>(loop_of(system()), *socket, end_.tls, end_.time, end_.connections);
  }

 private:
  const lane_end end_;
};

/// Used instead of CAF's middleman, which keeps an unanswered request and thereby itself: a detached actor
/// that is not destroyed keeps its thread and the process. This one keeps no requests: CAF's broker answers
/// them.
class dialling final : public caf::event_based_actor {
 public:
  dialling(caf::actor_config& config, caf::actor broker, lane_end end)
      : event_based_actor(config), broker_(std::move(broker)), end_(std::move(end)) {}
  const char* name() const override { return "control_dialler"; }

  caf::behavior make_behavior() override {
    return {[this](caf::connect_atom, const std::string& host, uint16_t port) -> caf::result<caf::message> {
      auto connection = dial(host, port);
      if (!connection) return std::move(connection.error());
      return delegate(broker_, caf::connect_atom_v, std::move(*connection), port);
    }};
  }

 private:
  caf::expected<caf::io::scribe_ptr> dial(const std::string& host, uint16_t port) {
    const auto reached = connect_tcp(host, port, connect_limit);
    if (reached.socket < 0)
      return caf::make_error(reached.refused ? control_middleman::refused : caf::sec::connection_timeout,
                             reached.problem);
    session_ptr session;
    if (end_.tls) {
      session = std::make_unique<tls_session>(*end_.tls, reached.socket, host);
      if (!session->handshake_within(reached.socket, end_.time, handshake_limit)) {
        spdlog::warn("event=control_connection_failed to={}:{} reason=\"{}\"", host, port, session->error());
        network::close_socket(reached.socket);
        return caf::sec::disconnect_during_handshake;
      }
    }
    return make_control_connection(loop_of(system()), reached.socket, std::move(session), end_.connections);
  }

  const caf::actor broker_;
  const lane_end end_;
};

}  // namespace

void prepare_control_lane(caf::actor_system_config& config) {
  config.load<caf::io::middleman>();
  config.set("middleman.heartbeat-interval", caf::timespan(control_heartbeat));
}

control_middleman::control_middleman(caf::actor_system& system, std::shared_ptr<const tls_context> tls,
                                     const clock& time) {
  const lane_end end{std::move(tls), time, std::make_shared<control_connections>()};
  const auto broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  listener_ = system.spawn<listening, caf::hidden>(broker, end);
  dialler_ = system.spawn<dialling, caf::detached + caf::hidden>(broker, end);
  // A thread, because a delayed message in CAF's clock would keep its actor.
  watch_ = std::jthread([all = end.connections, &loop = loop_of(system)](const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, over, control_heartbeat, [&] { return over.stop_requested(); }))
      loop.post([all] { all->check_heartbeat(); });
  });
}

control_middleman::~control_middleman() {
  caf::anon_send_exit(listener_, caf::exit_reason::kill);
  caf::anon_send_exit(dialler_, caf::exit_reason::kill);
}

}  // namespace troupe
