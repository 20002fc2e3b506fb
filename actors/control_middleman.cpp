#include "actors/control_middleman.hpp"

#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <mutex>
#include <utility>

#include "transport/tls_doorkeeper.hpp"

namespace troupe {
namespace {

namespace network = caf::io::network;
using session_ptr = std::unique_ptr<tls_session>;

/// Of a node that we dial. Shorter than `node_timeout_ms` should be: a frozen host that still accepts
/// connections holds up the dialling of all others for so long.
constexpr duration handshake_limit = 2s;

/// How a stream of CAF reads and writes its socket.
class stream_policy {
 public:
  explicit stream_policy(session_ptr tls) : tls_(std::move(tls)) {}

  network::rw_state read_some(size_t& n, network::native_socket socket, void* into, size_t size) {
    if (!tls_) return caf::policy::tcp::read_some(n, socket, into, size);
    return state_of(tls_->read(into, size, n));
  }
  network::rw_state write_some(size_t& n, network::native_socket socket, const void* from, size_t size) {
    if (!tls_) return caf::policy::tcp::write_some(n, socket, from, size);
    n = 0;
    return size == 0 ? network::rw_state::success : state_of(tls_->write(from, size, n));
  }
  bool must_read_more(network::native_socket, size_t wanted) {
    return tls_ && tls_->pending() > 0 && tls_->pending() >= wanted;
  }

 private:
  /// "Not now" is a success of no bytes: the multiplexer comes back when the socket is ready.
  static network::rw_state state_of(tls_session::progress p) {
    return p == tls_session::progress::failed ? network::rw_state::failure : network::rw_state::success;
  }
  session_ptr tls_;
};

class connection final : public caf::io::scribe {
 public:
  connection(network::default_multiplexer& loop, network::native_socket socket, session_ptr tls)
      : scribe(network::conn_hdl_from_socket(socket)), stream_(loop, socket, std::move(tls)) {}

  void configure_read(caf::io::receive_policy::config wanted) override {
    if (wanted.second > largest_control_message) {
      spdlog::warn("event=control_connection_cut from={}:{} reason=\"announced a message of {} bytes\"",
                   addr(), port(), wanted.second);
      network::shutdown_both(stream_.fd());  // the loop reads its end and tells the broker
      wanted = caf::io::receive_policy::exactly(1);
    }
    stream_.configure_read(wanted);
    if (!std::exchange(launched_, true)) stream_.start(this);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void flush() override { stream_.flush(this); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  std::string addr() const override {
    auto a = network::remote_addr_of_fd(stream_.fd());
    return a ? *a : "";
  }
  uint16_t port() const override {
    const auto p = network::remote_port_of_fd(stream_.fd());
    return p ? *p : uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  bool launched_ = false;
  network::stream_impl<stream_policy> stream_;
};

/// Listens at the control port. With TLS, CAF hears of a peer only after the handshake.
class door final : public network::doorman_impl {
 public:
  door(network::default_multiplexer& loop, network::native_socket socket,
       std::shared_ptr<const tls_context> tls, const clock& time)
      : doorman_impl(loop, socket), tls_(std::move(tls)), time_(time), way_in_(std::make_shared<way_in>()) {
    way_in_->to = this;
    if (tls_)
      keeper_ = std::make_unique<tls_doorkeeper>(
          *tls_, time, [this](const std::string& from, const std::string& why) { refused(from, why); });
  }

  ~door() override {
    std::lock_guard lock(way_in_->mutex);
    way_in_->to = nullptr;
  }

  bool new_connection() override {
    if (detached()) return false;
    const auto socket = acceptor_.accepted_socket();
    network::nonblocking(socket, true);
    if (!keeper_) return admit(socket, nullptr);
    keeper_->greet(socket, [way = way_in_, &loop = acceptor_.backend()](int guest, session_ptr tls) {
      // From the doorkeeper's thread to the loop's, where the door may be gone by then.
      loop.post([way, guest, tls = std::make_shared<session_ptr>(std::move(tls))] {
        std::lock_guard lock(way->mutex);
        if (way->to == nullptr || !way->to->admit(guest, std::move(*tls))) network::close_socket(guest);
      });
    });
    return true;
  }

 private:
  struct way_in {
    std::mutex mutex;
    door* to = nullptr;
  };

  bool admit(network::native_socket socket, session_ptr tls) {
    if (detached()) return false;
    auto& loop = acceptor_.backend();
    auto fresh = caf::make_counted<connection>(loop, socket, std::move(tls));
    const auto handle = fresh->hdl();
    parent()->add_scribe(std::move(fresh));
    doorman::new_connection(&loop, handle);
    return true;
  }

  /// On the doorkeeper's thread. Once a second at most: whoever is refused must not fill the log.
  void refused(const std::string& from, const std::string& why) {
    ++refused_;
    const auto now = time_.now();
    if (now < logged_ + 1s) return;
    logged_ = now;
    spdlog::warn("event=control_connection_refused from={} reason=\"{}\" count={}", from, why,
                 std::exchange(refused_, 0));
  }

  const std::shared_ptr<const tls_context> tls_;
  const clock& time_;
  const std::shared_ptr<way_in> way_in_;
  uint64_t refused_ = 0;
  time_point logged_ = long_ago;
  std::unique_ptr<tls_doorkeeper> keeper_;  // last: its thread ends before the rest goes
};

class middleman final : public caf::io::middleman_actor_impl {
 public:
  middleman(caf::actor_config& config, caf::actor broker, std::shared_ptr<const tls_context> tls,
            const troupe::clock& time)
      : middleman_actor_impl(config, std::move(broker)), tls_(std::move(tls)), time_(time) {}
  const char* name() const override { return "control_middleman"; }

 protected:
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host, uint16_t port) override {
    auto socket = network::new_tcp_connection(host, port);
    if (!socket) return std::move(socket.error());
    network::nonblocking(*socket, true);
    session_ptr session;
    if (tls_) {
      session = std::make_unique<tls_session>(*tls_, *socket, host);
      if (!session->shake_hands(*socket, time_, handshake_limit)) {
        spdlog::warn("event=control_connection_failed to={}:{} reason=\"{}\"", host, port, session->error());
        network::close_socket(*socket);
        return caf::sec::cannot_connect_to_node;
      }
    }
    return caf::make_counted<connection>(loop(), *socket, std::move(session));
  }

  caf::expected<caf::io::doorman_ptr> open(uint16_t port, const char* address, bool reuse) override {
    auto socket = network::new_tcp_acceptor_impl(port, address, reuse);
    if (!socket) return std::move(socket.error());
    return caf::make_counted<door>(loop(), *socket, tls_, time_);
  }

 private:
  network::default_multiplexer& loop() {
    return static_cast<network::default_multiplexer&>(system().middleman().backend());
  }
  const std::shared_ptr<const tls_context> tls_;
  const troupe::clock& time_;
};

}  // namespace

caf::io::middleman_actor spawn_control_middleman(caf::actor_system& system,
                                                 std::shared_ptr<const tls_context> tls, const clock& time) {
  auto broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  return system.spawn<middleman, caf::detached + caf::hidden>(std::move(broker), std::move(tls), time);
}

}  // namespace troupe
