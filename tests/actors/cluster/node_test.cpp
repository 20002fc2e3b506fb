#include "actors/cluster/node.hpp"

#include <doctest/doctest.h>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <utility>

#include "actors/runtime/actor_of.hpp"
#include "actors/runtime/system_config.hpp"
#include "messages/common/version.hpp"
#include "tests/actors/cluster/scripted_deployer.hpp"
#include "transport/fabric/inproc_fabric.hpp"

using namespace troupe;

namespace {

constexpr node_id head_node{0}, door_node{1}, standby_node{2};
constexpr incarnation_id head_incarnation{10}, frontend_incarnation{20};

cluster_spec head_and_door() {
  cluster_spec c;
  c.hash = "abc";
  for (const char* name : {"head", "frontend"}) c.nodes.emplace_back().name = name;
  c.nodes[head_node.value].roles = {node_role::scheduler};
  c.nodes[door_node.value].roles = {node_role::gateway};
  return c;
}

cluster_spec with_standby() {
  auto c = head_and_door();
  c.nodes.emplace_back().name = "spare";
  c.nodes[standby_node.value].roles = {node_role::standby};
  return c;
}

/// The node actor of the gateway `door_node`; its host, its deployer and its peer, the scheduler, are the
/// test's.
class lone_gateway final : control_lane {
 public:
  explicit lone_gateway(cluster_spec cluster = head_and_door()) : cluster_(std::move(cluster)) {
    post_.add_caf_host(caf_host_, {});
    node_ = spawn<node>(
        system_, node::environment{cluster_, door_node, time_, lane_, post_, *this, models,
                                   [] { return true; }, deployments_, [](const deployment&) { return false; },
                                   [] { return std::vector<uint8_t>{}; },
                                   [](incarnation_id last) { return incarnation_id{last.value + 1}; },
                                   [](incarnation_id) { return uint64_t{1}; }, [](incarnation_id) {},
                                   [](const caf::actor&, time_point) {}, [](bool) {}, [] {},
                                   [](const std::string& why) { FAIL(why); },
                                   [](const std::string& why) { FAIL(why); }});
    scheduler_.run();
    events.clear();
  }
  ~lone_gateway() override {
    for (const auto& a :
         {caf::actor_cast<caf::actor>(node_), caf::actor_cast<caf::actor>(deployments_), caf_host_})
      caf::anon_send_exit(a, caf::exit_reason::kill);
    scheduler_.run();
  }

  /// A message of the scheduler, to this incarnation of the gateway or to any.
  template <class Message>
  void receive(Message&& m, role about = role::node, incarnation_id to = {}) {
    deliver(control_frame{{head_node, head_incarnation, about, 0},
                          {door_node, to, about, 0},
                          caf::make_message(std::forward<Message>(m))});
  }
  void receive_hello(incarnation_id to = frontend_incarnation, leadership leader = {}) {
    const auto a = peer_->address();
    receive(hello{head_node,
                  head_incarnation,
                  cluster_.hash,
                  std::string(version),
                  {a.begin(), a.end()},
                  1,
                  leader},
            role::node, to);
  }
  void synchronise() { deliver(peer_synchronised{head_node, head_incarnation}); }

  catalog models{{}};
  std::vector<std::string> events;  ///< received by the actors
  int for_the_deployer = 0;
  std::vector<address> hellos;  ///< whom the gateway said hello to

 private:
  template <class Message>
  void deliver(Message&& m) {
    caf::anon_send(node_, std::forward<Message>(m));
    scheduler_.run();
  }
  void note(const actor_message& m) {
    if (std::holds_alternative<node_up>(m)) events.push_back("up");
    if (std::holds_alternative<node_leaving>(m)) events.push_back("leaving");
    if (std::holds_alternative<slot_ready>(m)) events.push_back("slot");
    if (std::holds_alternative<leadership>(m)) events.push_back("leader");
  }
  void send(control_frame f) override {
    if (f.body.match_elements<hello>()) hellos.push_back(f.to);
  }

  struct frozen_clock final : clock {
    time_point now() const override { return time_point{1h}; }
  };

  const cluster_spec cluster_;
  const frozen_clock time_;
  post post_{door_node};
  std::shared_ptr<inproc_network> network_ = make_inproc_network();
  std::unique_ptr<fabric> own_ = make_inproc_fabric(network_, door_node, frontend_incarnation, time_);
  std::unique_ptr<fabric> peer_ = make_inproc_fabric(network_, head_node, head_incarnation, time_);
  data_lane lane_{*own_, time_, post_, {door_node, frontend_incarnation, 1, 2}};
  stepped_config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  caf::actor caf_host_ = system_.spawn([this](caf::event_based_actor*) -> caf::behavior {
    return {[this](const delivery& d) {
      for (const auto& e : d.messages) note(e.body);
    }};
  });
  deployer_protocol deployments_ = system_.spawn([this](deployer_protocol::pointer) {
    return test::scripted_deployer([this](const control_frame&) { ++for_the_deployer; },
                                   [](const auto&) { return change_reply{}; });
  });
  node_protocol node_;
};

}  // namespace

TEST_CASE("node: a peer is up once both clocks are known, and its slots count from then on") {
  lone_gateway n;
  n.receive_hello();
  n.receive(slot_ready{slot_id{0}, {head_node, head_incarnation, role::gpu_worker, 0}, {}});
  CHECK(n.events.empty());
  n.synchronise();
  CHECK(n.events == std::vector<std::string>{"up", "slot"});
  CHECK(n.models.serving());
}

TEST_CASE("node: a peer that leaves before it is up serves no slots afterwards") {
  lone_gateway n;
  n.receive_hello();
  n.receive(slot_ready{slot_id{0}, {head_node, head_incarnation, role::gpu_worker, 0}, {}});
  n.receive(leave_notice{head_node, head_incarnation});
  n.events.clear();
  n.synchronise();
  CHECK(n.events == std::vector<std::string>{"up", "leaving"});
  CHECK_FALSE(n.models.serving());
  CHECK(n.models.slots().empty());
}

TEST_CASE("node: a hello to another incarnation of it is answered, and connects no peer") {
  for (const auto former : {incarnation_id{}, incarnation_id{frontend_incarnation.value - 1}}) {
    lone_gateway n;
    n.hellos.clear();
    n.receive_hello(former);
    CHECK(n.hellos == std::vector<address>{{head_node, head_incarnation, role::node, 0}});
    n.synchronise();
    CHECK(n.events.empty());
    n.receive_hello();
    n.synchronise();
    CHECK(n.events == std::vector<std::string>{"up"});
  }
}

TEST_CASE("node: messages to another incarnation of it are discarded") {
  lone_gateway n;
  n.receive_hello();
  n.receive(change_reply{}, role::deployer, incarnation_id{frontend_incarnation.value - 1});
  CHECK(n.for_the_deployer == 0);
  n.receive(change_reply{}, role::deployer, frontend_incarnation);
  n.receive(change_reply{}, role::deployer);
  CHECK(n.for_the_deployer == 2);
}

TEST_CASE("node: a hello to another incarnation of it teaches no leader") {
  lone_gateway n(with_standby());
  const leadership isolated{{8}, standby_node, {7}}, leads{{6}, head_node, head_incarnation};
  for (const auto former : {incarnation_id{}, incarnation_id{frontend_incarnation.value - 1}})
    n.receive_hello(former, isolated);
  CHECK(n.events.empty());
  n.receive_hello(frontend_incarnation, leads);
  CHECK(n.events == std::vector<std::string>{"leader"});
}
