#include "actors/cluster/control_connection.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/policy/tcp.hpp>
#include <utility>

namespace troupe {
namespace {

namespace network = caf::io::network;

/// Reads and writes the socket of a CAF stream, with or without TLS.
class stream_policy {
 public:
  /// `received` is set when data arrives.
  stream_policy(std::unique_ptr<tls_session> tls, bool& received)
      : tls_(std::move(tls)), received_(received) {}

  network::rw_state read_some(size_t& n, network::native_socket socket, void* into, size_t size) {
    const auto state =
        tls_ ? state_of(tls_->read(into, size, n)) : caf::policy::tcp::read_some(n, socket, into, size);
    if (n > 0) received_ = true;
    return state;
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
  /// "Not now" is a success with zero bytes: the multiplexer retries when the socket is ready.
  static network::rw_state state_of(tls_session::progress p) {
    return p == tls_session::progress::failed ? network::rw_state::failure : network::rw_state::success;
  }
  const std::unique_ptr<tls_session> tls_;
  bool& received_;
};

/// Used on the loop's thread, except for construction and destruction.
class connection final : public caf::io::scribe, private control_connections::member {
 public:
  connection(network::default_multiplexer& loop, network::native_socket socket,
             std::unique_ptr<tls_session> tls, std::shared_ptr<control_connections> all)
      : scribe(network::conn_hdl_from_socket(socket)),
        stream_(loop, socket, std::move(tls), received_),
        all_(std::move(all)) {}
  ~connection() override { all_->remove(*this); }

  void configure_read(caf::io::receive_policy::config wanted) override {
    if (wanted.second > largest_control_message) {
      cut(fmt::format("announced a message of {} bytes", wanted.second));
      wanted = caf::io::receive_policy::exactly(1);
    }
    stream_.configure_read(wanted);
    if (std::exchange(launched_, true)) return;
    stream_.start(this);
    all_->add(*this);
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
  void check_heartbeat() override {
    missing_ = std::exchange(received_, false) ? 0 : missing_ + 1;
    if (missing_ == missing_heartbeats)
      cut(fmt::format("silent for {} s", (missing_ * control_heartbeat).count()));
  }
  void cut(const std::string& why) {
    spdlog::warn("event=control_connection_cut peer={}:{} reason=\"{}\"", addr(), port(), why);
    network::shutdown_both(stream_.fd());  // the loop reads the end and informs the broker
  }

  bool launched_ = false;
  bool received_ = true;
  int missing_ = 0;
  network::stream_impl<stream_policy> stream_;
  const std::shared_ptr<control_connections> all_;
};

}  // namespace

void control_connections::add(member& m) {
  const std::lock_guard lock(mutex_);
  members_.push_back(&m);
}

void control_connections::remove(member& m) {
  const std::lock_guard lock(mutex_);
  std::erase(members_, &m);
}

void control_connections::check_heartbeat() {
  const std::lock_guard lock(mutex_);
  for (auto* m : members_) m->check_heartbeat();
}

caf::io::scribe_ptr make_control_connection(network::default_multiplexer& loop, network::native_socket socket,
                                            std::unique_ptr<tls_session> tls,
                                            std::shared_ptr<control_connections> all) {
  return caf::make_counted<connection>(loop, socket, std::move(tls), std::move(all));
}

}  // namespace troupe
