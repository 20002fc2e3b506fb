#include "actors/cluster/control_endpoint.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <caf/all.hpp>
#include <chrono>
#include <thread>

#include "actors/runtime/system_config.hpp"
#include "messages/cluster/membership.hpp"
#include "messages/common/time.hpp"

using namespace troupe;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

constexpr node_id there{0}, here{1};

/// Accepts connections at a local port and sends nothing.
struct silent_listener {
  boost::asio::io_context context;
  tcp::acceptor socket{context, {boost::asio::ip::address_v4::loopback(), 0}};
  uint16_t port() const { return socket.local_endpoint().port(); }
};

/// Two nodes; the later one dials the earlier one.
cluster_spec here_and_there(uint16_t port_there) {
  cluster_spec c;
  for (const char* name : {"there", "here"}) {
    auto& n = c.nodes.emplace_back();
    n.name = name;
    n.host = n.listen = "127.0.0.1";
  }
  c.nodes[there.value].control_port = port_there;
  c.nodes[here.value].control_port = 0;  // any
  return c;
}

/// One end of the control lane. Its destructor ends like a process: it hangs while a detached actor is
/// referenced.
class lane_end {
 public:
  lane_end(const cluster_spec& cluster, node_id self)
      : self_(self),
        endpoint_(system_, nullptr, time_, cluster, self, [](const std::string& why) { FAIL(why); }) {}
  ~lane_end() {
    endpoint_.close();
    system_.await_all_actors_done();
  }
  /// Counts the frames to the console.
  void listen(std::atomic<int>& received) {
    console_ = system_.spawn([&received](caf::event_based_actor*) -> caf::behavior {
      return {[&received](const control_frame&) {
        ++received;
        received.notify_all();
      }};
    });
    endpoint_.open({}, console_);
  }
  void send(node_id to) {
    endpoint_.send(
        {{self_, {}, role::node, 0}, {to, {}, role::console, 0}, caf::make_message(leave_notice{self_, {}})});
  }
  void leave() { caf::anon_send_exit(console_, caf::exit_reason::kill); }

 private:
  struct lane_config final : threaded_config {
    lane_config() : threaded_config(1) { prepare_control_lane(*this); }
  };
  const machine_clock time_;
  const node_id self_;
  lane_config config_;
  caf::actor_system system_{config_};
  control_endpoint endpoint_;
  caf::actor console_;
};

}  // namespace

TEST_CASE("control endpoint: a silent peer does not keep the process alive") {
  silent_listener peer;
  const auto cluster = here_and_there(peer.port());
  for (int i = 0; i < 5; ++i) {
    lane_end end(cluster, here);
    end.send(there);
    const auto looked = peer.socket.accept();
    const auto dialled = peer.socket.accept();
    std::this_thread::sleep_for(10ms * i);  // until CAF's broker has it, or not yet
  }
}

TEST_CASE("control endpoint: frames in flight do not keep the process alive") {
  const auto cluster = here_and_there(silent_listener().port());
  lane_end listener(cluster, there);
  std::atomic<int> received{0};
  listener.listen(received);
  for (int i = 0; i < 100; ++i) {
    const auto before = received.load();
    lane_end end(cluster, here);
    end.send(there);
    if (i % 2 == 0) received.wait(before);
    for (int frame = 0; frame < 100; ++frame) end.send(there);
  }
  listener.leave();
}
