#include "actors/deployer.hpp"

#include <doctest/doctest.h>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <optional>

#include "actors/actor_of.hpp"
#include "actors/system_config.hpp"
#include "policies/batching.hpp"

using namespace troupe;

namespace {

constexpr node_id head{0}, left{1}, right{2};

/// A scheduler that is the gateway too, and two workers with a slot each.
/// `apart`: the workers are in two domains.
cluster_spec a_cluster(const std::string& batching, bool apart) {
  cluster_spec c;
  c.policy.batching = batching;
  c.limits.node_timeout = 1s;
  for (const char* name : {"head", "left", "right"}) c.nodes.emplace_back().name = name;
  c.nodes[head.value].roles = {node_role::scheduler, node_role::gateway};
  for (const auto worker : {left, right}) {
    c.nodes[worker.value].roles = {node_role::worker};
    c.slots.push_back({worker});
  }
  if (apart) {
    c.domains = {{"west", 0}, {"east", 0}};
    c.nodes[right.value].domain = 1;
  }
  return c;
}

/// The deployers of a cluster that can reach each other at once; their node actors and devices are the
/// test's.
class deployers : control_lane {
 public:
  struct loading {
    deployment line;
    std::function<void(load_outcome)> told;
  };

  explicit deployers(bool everybody = true, const std::string& batching = "eager", bool apart = false)
      : cluster_(a_cluster(batching, apart)) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].door = system_.spawn(node_actor, &nodes_[i]);
      begin(node_id{i}, {1});
    }
    meet(head, left);
    meet(left, right);
    if (everybody) meet(head, right);
  }
  ~deployers() override {
    for (const auto& n : nodes_) {
      caf::anon_send_exit(n.deployments, caf::exit_reason::kill);
      caf::anon_send_exit(n.door, caf::exit_reason::kill);
    }
    scheduler_.run();
  }

  void meet(node_id a, node_id b) {
    tell(a, peer_change{b, nodes_[b.value].life, true});
    tell(b, peer_change{a, nodes_[a.value].life, true});
  }
  void part(node_id a, node_id b) {
    tell(a, peer_change{b, nodes_[b.value].life, false});
    tell(b, peer_change{a, nodes_[a.value].life, false});
  }
  /// A node's process is another one from now on; the others notice.
  void restart(node_id node, incarnation life) {
    for (const auto other : {head, left, right})
      if (other != node) tell(other, peer_change{node, nodes_[node.value].life, false});
    caf::anon_send_exit(nodes_[node.value].deployments, caf::exit_reason::kill);
    begin(node, life);
    for (const auto other : {head, left, right})
      if (other != node) meet(node, other);
  }
  /// A node notices that it was frozen; the others have not noticed yet.
  void new_life(node_id node, incarnation life) {
    nodes_[node.value].life = life;
    tell(node, reborn{life});
  }
  template <class Message>
  void tell(node_id to, Message&& m) {
    caf::anon_send(nodes_[to.value].deployments, std::forward<Message>(m));
    scheduler_.run();
  }
  /// The reply appears once there is one.
  template <class Command>
  std::shared_ptr<std::optional<change_reply>> ask(node_id to, Command c) {
    auto reply = std::make_shared<std::optional<change_reply>>();
    system_.spawn([=, door = nodes_[to.value].deployments](caf::event_based_actor* self) {
      self->request(door, caf::infinite, c).then([=](const change_reply& r) { *reply = r; });
    });
    scheduler_.run();
    return reply;
  }
  /// The oldest load of a worker ends, well if there is no problem.
  void end_load(node_id worker, const std::string& problem = {}) {
    auto& loads = nodes_[worker.value].loads;
    REQUIRE(!loads.empty());
    const auto l = std::move(loads.front());
    loads.erase(loads.begin());
    load_outcome o{slot_id{worker.value - 1}, l.line.model, l.line.revision, {}, problem};
    if (problem.empty()) o.loaded.emplace();
    l.told(std::move(o));
    scheduler_.run();
  }
  /// The newest line that the node's shells were told.
  deployment told(node_id node) const {
    REQUIRE(!nodes_[node.value].lines.empty());
    return nodes_[node.value].lines.back();
  }
  /// The gateway, or the worker, needs the model no more.
  void idle(node_id node) {
    const auto kind = node == head ? role::gateway : role::gpu_worker;
    const auto line = told(node);
    tell(node, model_idle{line.model,
                          line.revision,
                          {node, nodes_[node.value].life, kind, node == head ? 0 : node.value - 1}});
  }
  int wake_ups() const { return wake_ups_; }
  size_t loads(node_id worker) const { return nodes_[worker.value].loads.size(); }
  /// What the worker's slot last said that it has.
  size_t models_on(node_id worker) const { return nodes_[worker.value].slot.models.size(); }

 private:
  void begin(node_id node, incarnation life) {
    auto& n = nodes_[node.value];
    n.life = life;
    n.deployments = spawn<deployer>(
        system_, deployer::surroundings{cluster_, node, time_, *this, n, read,
                                        [this](const caf::actor&, time_point) { ++wake_ups_; }, [] {},
                                        [](const std::string&) {}, [](const std::string& w) { FAIL(w); }});
    caf::anon_send(n.deployments, introduction{n.door, life});
  }

  struct member final : model_loader {
    void load(const deployment& line, std::function<void(load_outcome)> told) override {
      loads.push_back({line, std::move(told)});
    }
    incarnation life;
    node_protocol door;
    deployer_protocol deployments;
    std::vector<loading> loads;
    std::vector<deployment> lines;
    slot_ready slot;
  };

  static node_protocol::behavior_type node_actor(node_protocol::pointer, member* of) {
    return {[](const control_frame&) {},
            [of](const slot_ready& s) { of->slot = s; },
            [of](const deployment_log& log) { of->lines.push_back(log.models.at(0)); },
            [](const peer_synchronised&) {},
            [](const peer_lost&) {},
            [](const group_report&) {},
            [](const report_query&) {},
            [](const command_query&) {},
            [](wake_atom) {},
            [](drain_atom) {}};
  }
  /// "NAME", or "NAME big" for another definition.
  static deployer::model_reading read(const std::string& text) {
    model_spec m;
    m.name = text.substr(0, text.find(' '));
    m.max_batch = text == m.name ? 1 : 64;
    return {m, {}};
  }
  /// What is for an earlier life of a node is discarded, as its node actor does.
  void send(control_frame frame) override {
    const auto life = frame.to.life;
    if (life != incarnation{} && life != nodes_[frame.to.node.value].life) return;
    caf::anon_send(nodes_[frame.to.node.value].deployments, std::move(frame));
  }

  struct frozen_clock final : clock {
    time_point now() const override { return {}; }
  };

  const cluster_spec cluster_;
  const frozen_clock time_;
  stepped_config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  std::array<member, 3> nodes_;
  int wake_ups_ = 0;  ///< that were asked for: no test lets time pass
};

}  // namespace

TEST_CASE("deployer: a deployment ends once every worker has the model") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  CHECK(all.told(head).definition.name == "resnet");
  CHECK_FALSE(*reply);
  all.end_load(left);
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
  CHECK((*reply)->detail == "model 'resnet' is ready on every worker");
  CHECK(all.models_on(left) == 1);
}

TEST_CASE("deployer: asks once to be woken, however often it looks at what somebody waits for") {
  deployers all;
  const auto before = all.wake_ups();
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.part(left, right);
  all.meet(left, right);
  all.part(head, right);
  all.meet(head, right);
  CHECK_FALSE(*reply);
  CHECK(all.wake_ups() == before + 1);
}

TEST_CASE("deployer: a worker that leaves during a deployment is not waited for") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  all.tell(head, peer_change{right, {1}, false});
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: a worker that cannot load a model is named") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left, "out of memory");
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "node 'left' cannot load model 'resnet': out of memory");
}

TEST_CASE("deployer: a model for which a plug-in makes no policy is refused, and nothing else happens") {
  batchings().add("for nobody", [](const batching_parameters&, shedding) -> std::unique_ptr<batching_policy> {
    throw std::runtime_error("not today");
  });
  deployers all(true, "for nobody");
  const auto reply = all.ask(left, deploy{0, "resnet", 10s});
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "model 'resnet' cannot have the batching policy 'for nobody': not today");
  CHECK(all.loads(left) == 0);
}

TEST_CASE("deployer: of two deployments of one name the second waits for the first, or is refused") {
  deployers all;
  const auto one = all.ask(head, deploy{0, "resnet", 10s});
  const auto same = all.ask(left, deploy{0, "resnet", 10s});
  const auto other = all.ask(right, deploy{0, "resnet big", 10s});
  REQUIRE(*other);
  CHECK_FALSE((*other)->ok);
  CHECK((*other)->detail == "model 'resnet' is deployed with another definition; undeploy it first");
  CHECK(all.loads(left) == 1);
  CHECK_FALSE(*same);
  all.end_load(left);
  all.end_load(right);
  REQUIRE(*one);
  REQUIRE(*same);
  CHECK((*same)->complete);
  CHECK((*same)->revision == (*one)->revision);
}

TEST_CASE("deployer: a model that is undeployed while it loads is let go when it is loaded") {
  deployers all;
  const auto up = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  const auto down = all.ask(head, undeploy{0, "resnet", 10s});
  REQUIRE(*up);
  CHECK_FALSE((*up)->ok);
  CHECK((*up)->detail == "model 'resnet' was undeployed meanwhile");
  CHECK(all.told(head).wanted == deployment_state::retiring);
  all.idle(head);
  CHECK(all.told(left).wanted == deployment_state::undeployed);
  CHECK(all.models_on(left) == 0);
  CHECK(all.told(right).wanted == deployment_state::retiring);  // it loads still
  const auto again = all.ask(head, redeploy{0, "resnet", {}});
  REQUIRE(*again);
  CHECK_FALSE((*again)->ok);
  CHECK((*again)->detail == "model 'resnet' is being let go by node 'left'; try again");
  all.end_load(right);
  CHECK(all.told(right).wanted == deployment_state::undeployed);
  CHECK(all.models_on(right) == 0);
  all.idle(left);
  CHECK_FALSE(*down);
  all.idle(right);
  REQUIRE(*down);
  CHECK((*down)->complete);
  CHECK((*down)->detail == "model 'resnet' is undeployed");
}

TEST_CASE("deployer: who asks a node that loses the scheduler hears of it") {
  deployers all;
  const auto reply = all.ask(left, deploy{0, "resnet", 10s});
  CHECK_FALSE(*reply);
  all.tell(left, peer_change{head, {1}, false});
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "node 'head' went away before it answered; ask again");
}

TEST_CASE("deployer: a scheduler decides nothing before it has heard what every node knows") {
  deployers all(false);
  const auto reply = all.ask(left, deploy{0, "resnet", {}});
  CHECK_FALSE(*reply);
  all.meet(head, right);
  REQUIRE(*reply);
  CHECK((*reply)->ok);
  CHECK(all.loads(right) == 1);
}

TEST_CASE("deployer: what the last holder of the office told only some, all know in the next tenure") {
  deployers all;
  all.part(head, right);
  all.ask(head, deploy{0, "resnet", {}});
  all.part(head, left);
  CHECK(all.loads(left) == 1);
  CHECK(all.loads(right) == 0);
  node_id next = left;
  SUBCASE("if the next holder is one of them") { next = left; }
  SUBCASE("if it is not") { next = right; }
  for (const auto node : {left, right}) all.tell(node, tenure{{5}, next, {1}});
  CHECK(all.loads(right) == 1);
  CHECK(all.told(right).revision == all.told(left).revision);
}

TEST_CASE("deployer: a new holder of the office decides nothing before it has heard what the others know") {
  deployers all;
  all.part(head, left);
  all.part(head, right);
  all.tell(left, tenure{{5}, left, {1}});
  const auto reply = all.ask(left, deploy{0, "resnet", {}});
  CHECK_FALSE(*reply);
  all.tell(right, tenure{{5}, left, {1}});
  REQUIRE(*reply);
  CHECK((*reply)->ok);
  CHECK(all.loads(right) == 1);
}

TEST_CASE("deployer: what a deposed scheduler tells one node, that one tells the holder, and it all others") {
  deployers all;
  all.part(head, left);
  for (const auto node : {left, right}) all.tell(node, tenure{{5}, left, {1}});
  all.ask(head, deploy{0, "resnet", {}});
  CHECK(all.loads(right) == 1);
  CHECK(all.loads(left) == 1);
}

TEST_CASE("deployer: what the only worker took with it is not deployed until another one has it") {
  deployers all;
  all.part(head, right);
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.part(head, left);
  CHECK_FALSE(*reply);
  const auto now = all.ask(head, redeploy{0, "resnet", {}});
  REQUIRE(*now);
  CHECK((*now)->ok);
  CHECK_FALSE((*now)->complete);
  CHECK((*now)->detail == "model 'resnet' waits for a worker: none is up");
  all.meet(head, right);
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: a scheduler that was frozen does not take those it has not met again for done") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  all.new_life(head, {2});
  CHECK_FALSE(*reply);
  for (const auto worker : {left, right}) {
    all.tell(worker, peer_change{head, {1}, false});
    all.meet(head, worker);
  }
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: the answer to an earlier process of a node goes to nobody of the later one") {
  deployers all;
  all.ask(head, deploy{0, "vgg", {}});
  all.end_load(left);
  all.end_load(right);
  all.ask(left, deploy{0, "resnet", 10s});  // of the process that ends
  all.restart(left, {2});
  const auto reply = all.ask(left, undeploy{0, "vgg", 10s});
  while (all.loads(left) > 0) all.end_load(left);
  all.end_load(right);  // resnet is ready everywhere
  CHECK_FALSE(*reply);
  all.idle(head);
  for (const auto worker : {left, right}) all.idle(worker);
  REQUIRE(*reply);
  CHECK((*reply)->detail == "model 'vgg' is undeployed");
}

TEST_CASE("deployer: a change that is carried out is no refusal, however many wait for theirs") {
  deployers all;
  for (int i = 0; i < 256; ++i) all.ask(head, deploy{0, "resnet", 10s});
  const auto one_more = all.ask(head, deploy{0, "vgg", 10s});
  REQUIRE(*one_more);
  CHECK((*one_more)->ok);
  CHECK_FALSE((*one_more)->complete);
  CHECK((*one_more)->revision == 2);
  CHECK((*one_more)->detail ==
        "model 'vgg' is being loaded by node 'left'; too many commands wait for the end of theirs already");
}

namespace {

/// "resnet" is served in the west, by the worker on the left.
struct apart final : deployers {
  apart() : deployers(true, "eager", true) {
    ask(head, deploy{0, "resnet", {}});
    end_load(left);
    idle(right);  // it has no such model
  }
  /// Nothing of the model runs in the domain that it leaves.
  void queue_left() {
    const auto line = told(head);
    tell(head, model_idle{line.model, line.revision, {head, {1}, role::model_queue, line.model.value}});
  }
};

}  // namespace

TEST_CASE("deployer: a model moves to another domain: loaded there, then its queue, then let go here") {
  apart all;
  CHECK(all.models_on(left) == 1);
  CHECK(all.loads(right) == 0);
  const auto reply = all.ask(head, move_model{0, "resnet", "east", 10s});
  CHECK(all.told(left).joining == 1);
  CHECK(all.told(left).domain == 0);
  all.end_load(right);
  CHECK(all.models_on(left) == 1);
  CHECK(all.models_on(right) == 1);
  CHECK(all.told(head).domain == 1);
  CHECK(all.told(head).leaving == 0);
  CHECK_FALSE(*reply);
  all.queue_left();
  CHECK_FALSE(all.told(head).moves());
  CHECK(all.models_on(left) == 0);
  CHECK_FALSE(*reply);
  all.idle(left);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
  const auto again = all.ask(head, move_model{0, "resnet", "east", 10s});
  REQUIRE(*again);
  CHECK((*again)->complete);
}

TEST_CASE("deployer: a model that the new domain cannot load stays where it was") {
  apart all;
  const auto reply = all.ask(head, move_model{0, "resnet", "east", 10s});
  all.end_load(right, "out of memory");
  CHECK(all.told(head).domain == 0);
  CHECK_FALSE(all.told(head).moves());
  CHECK(all.models_on(left) == 1);
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "model 'resnet' stays where it was; the log of node 'head' says why");
}

TEST_CASE("deployer: moves that cannot be are refused in one sentence") {
  apart all;
  const auto nowhere = all.ask(left, move_model{0, "resnet", "north", {}});
  REQUIRE(*nowhere);
  CHECK((*nowhere)->detail == "the cluster has no domain 'north'");
  const auto nothing = all.ask(head, move_model{0, "vgg", "east", {}});
  REQUIRE(*nothing);
  CHECK((*nothing)->detail == "no model 'vgg' is deployed");
}

TEST_CASE("deployer: a model that is undeployed while it moves is let go everywhere") {
  apart all;
  all.ask(head, move_model{0, "resnet", "east", {}});
  all.end_load(right);
  all.queue_left();
  all.ask(head, undeploy{0, "resnet", {}});
  all.idle(head);
  CHECK(all.told(head).wanted == deployment_state::undeployed);
  CHECK(all.models_on(left) == 0);
  CHECK(all.models_on(right) == 0);
}
