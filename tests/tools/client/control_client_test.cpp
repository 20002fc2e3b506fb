#include "tools/client/control_client.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <caf/all.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "actors/cluster/control_endpoint.hpp"
#include "actors/runtime/system_config.hpp"
#include "tests/deaf_listener.hpp"

using namespace troupe;

namespace {

cluster_spec one_node(uint16_t port) {
  cluster_spec c;
  auto& n = c.nodes.emplace_back();
  n.name = "node";
  n.host = n.listen = "127.0.0.1";
  n.control_port = port;
  return c;
}

/// A node's end of the control lane, with a console that answers "echo" and keeps other commands.
class answering_node {
 public:
  explicit answering_node(const cluster_spec& cluster)
      : endpoint_(system_, nullptr, time_, cluster, node_id{0}, [](const std::string& why) { FAIL(why); }) {
    console_ = system_.spawn([this](caf::event_based_actor* self) -> caf::behavior {
      return {[this, self](const command& c) -> caf::result<command_reply> {
        if (c.verb == "echo") return command_reply{c.token, true, c.argument};
        kept_ = true;
        kept_.notify_all();
        return self->make_response_promise<command_reply>();
      }};
    });
    endpoint_.open({}, console_);
  }
  ~answering_node() {
    endpoint_.close();
    caf::anon_send_exit(console_, caf::exit_reason::kill);
    system_.await_all_actors_done();
  }
  void wait_until_kept() { kept_.wait(false); }

 private:
  struct lane_config final : threaded_config {
    lane_config() : threaded_config(1) { prepare_control_lane(*this); }
  };
  const machine_clock time_;
  std::atomic<bool> kept_{false};
  lane_config config_;
  caf::actor_system system_{config_};
  control_endpoint endpoint_;
  caf::actor console_;
};

}  // namespace

TEST_CASE("control client: a node that ends without an answer is noticed at once, and is absent then") {
  const auto cluster = one_node(closed_port());
  auto node = std::make_unique<answering_node>(cluster);
  control_client client(cluster);
  const auto echo = client.ask(cluster.nodes[0], {1, "echo", "here"});
  CHECK(echo.ok);
  CHECK(echo.body == "here");
  CHECK(echo.how == delivery_state::answered);

  std::thread end([&] {
    node->wait_until_kept();
    node.reset();
  });
  const auto began = std::chrono::steady_clock::now();
  const auto kept = client.ask(cluster.nodes[0], {2, "keep", ""}, std::chrono::seconds(60));
  const auto took = std::chrono::steady_clock::now() - began;
  end.join();
  CHECK_FALSE(kept.ok);
  CHECK(kept.how == delivery_state::unanswered);
  CHECK_FALSE(kept.not_delivered());
  CHECK(took < std::chrono::seconds(20));

  const auto gone = client.ask(cluster.nodes[0], {3, "echo", ""});
  CHECK_FALSE(gone.ok);
  CHECK(gone.how == delivery_state::absent);
  CHECK(gone.body.starts_with("no node answers at 127.0.0.1:"));
}

TEST_CASE("control client: a silent node is not an absent one") {
  const deaf_listener frozen(8);  // the kernel accepts for a frozen process
  const auto cluster = one_node(frozen.port());
  control_client client(cluster);
  const auto said = client.ask(cluster.nodes[0], {1, "status", ""}, std::chrono::milliseconds(300));
  CHECK_FALSE(said.ok);
  CHECK(said.how == delivery_state::undelivered);
  CHECK(said.not_delivered());
  CHECK(said.body.starts_with("no node can be reached at 127.0.0.1:"));
}
