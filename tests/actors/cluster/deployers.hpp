// The deployers of a small cluster, without a network and without time.
#pragma once
#include "actors/cluster/deployer.hpp"

#include <doctest/doctest.h>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>
#include <optional>

#include "actors/runtime/actor_of.hpp"
#include "actors/runtime/system_config.hpp"
#include "policies/batching/batching.hpp"

namespace troupe::test {

inline constexpr node_id head{0}, left{1}, right{2};

/// A scheduler that is the gateway too, and two workers with a slot each.
/// `apart`: the workers are in two domains.
inline cluster_spec a_cluster(const std::string& batching, bool apart) {
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
    std::function<void(load_outcome)> done;
  };

  explicit deployers(bool everybody = true, const std::string& batching = "eager", bool apart = false)
      : cluster_(a_cluster(batching, apart)) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].actor = system_.spawn(node_actor, &nodes_[i]);
      begin(node_id{i}, {1});
    }
    connect(head, left);
    connect(left, right);
    if (everybody) connect(head, right);
  }
  ~deployers() override {
    for (const auto& n : nodes_) {
      caf::anon_send_exit(n.deployments, caf::exit_reason::kill);
      caf::anon_send_exit(n.actor, caf::exit_reason::kill);
    }
    scheduler_.run();
  }

  void connect(node_id a, node_id b) {
    deliver(a, peer_change{b, nodes_[b.value].incarnation, true});
    deliver(b, peer_change{a, nodes_[a.value].incarnation, true});
  }
  void part(node_id a, node_id b) {
    deliver(a, peer_change{b, nodes_[b.value].incarnation, false});
    deliver(b, peer_change{a, nodes_[a.value].incarnation, false});
  }
  /// A node's process is another one from now on; the others notice.
  void restart(node_id node, incarnation_id incarnation) {
    for (const auto other : {head, left, right})
      if (other != node) deliver(other, peer_change{node, nodes_[node.value].incarnation, false});
    caf::anon_send_exit(nodes_[node.value].deployments, caf::exit_reason::kill);
    begin(node, incarnation);
    for (const auto other : {head, left, right})
      if (other != node) connect(node, other);
  }
  /// A node notices that it was frozen; the others have not noticed yet.
  void begin_new_incarnation(node_id node, incarnation_id incarnation) {
    nodes_[node.value].incarnation = incarnation;
    deliver(node, new_incarnation{incarnation});
  }
  template <class Message>
  void deliver(node_id to, Message&& m) {
    auto& n = nodes_[to.value];
    if constexpr (std::is_same_v<std::decay_t<Message>, leadership>) n.scheduler = m.scheduler;
    if constexpr (std::is_same_v<std::decay_t<Message>, peer_change>) n.reaches[m.node.value] = m.up;
    caf::anon_send(nodes_[to.value].deployments, std::forward<Message>(m));
    scheduler_.run();
  }
  /// The reply appears once there is one.
  template <class Command>
  std::shared_ptr<std::optional<change_reply>> ask(node_id to, Command c) {
    auto reply = std::make_shared<std::optional<change_reply>>();
    system_.spawn([=, actor = nodes_[to.value].deployments](caf::event_based_actor* self) {
      self->request(actor, caf::infinite, c).then([=](const change_reply& r) { *reply = r; });
    });
    scheduler_.run();
    return reply;
  }
  /// The oldest load of a worker ends, well if there is no problem.
  void end_load(node_id worker, const std::string& problem = {}, bool lost = false) {
    auto& loads = nodes_[worker.value].loads;
    REQUIRE(!loads.empty());
    const auto l = std::move(loads.front());
    loads.erase(loads.begin());
    load_outcome o{slot_id{worker.value - 1}, l.line.model, l.line.revision, {}, problem, lost};
    if (problem.empty()) o.loaded.emplace();
    l.done(std::move(o));
    scheduler_.run();
  }
  /// The newest line that the node's actors received.
  deployment line_on(node_id node) const {
    REQUIRE(!nodes_[node.value].lines.empty());
    return nodes_[node.value].lines.back();
  }
  /// The gateway, or the worker, needs the model no more.
  void idle(node_id node) {
    const auto kind = node == head ? role::gateway : role::gpu_worker;
    const auto line = line_on(node);
    deliver(node,
            model_idle{line.model,
                       line.revision,
                       {node, nodes_[node.value].incarnation, kind, node == head ? 0 : node.value - 1}});
  }
  int wake_ups() const { return wake_ups_; }
  /// The reason of an actor's exception, if the test expects one.
  std::optional<std::string> broken;
  /// The oldest load that has not ended.
  const deployment& next_load(node_id worker) const {
    REQUIRE(!nodes_[worker.value].loads.empty());
    return nodes_[worker.value].loads.front().line;
  }
  size_t loads(node_id worker) const { return nodes_[worker.value].loads.size(); }
  /// The number of models in the last report of the worker's slot.
  size_t models_on(node_id worker) const { return nodes_[worker.value].slot.models.size(); }

 private:
  void begin(node_id node, incarnation_id incarnation) {
    auto& n = nodes_[node.value];
    n.incarnation = incarnation;
    n.reaches = {};
    n.report = [this, node](const deployment_report& r) {
      const auto& from = nodes_[node.value];
      if (from.reaches[from.scheduler.value])
        send({{node, from.incarnation, role::deployer, 0},
              {from.scheduler, {}, role::deployer, 0},
              caf::make_message(r)});
    };
    n.deployments =
        spawn<deployer>(system_, deployer::environment{cluster_, node, time_, *this, n, true, read,
                                                       [this](const caf::actor&, time_point) { ++wake_ups_; },
                                                       [] {}, [](const std::string&, bool) {},
                                                       [this](const std::string& w) {
                                                         if (!broken) FAIL(w);
                                                         broken = w;
                                                       }});
    caf::anon_send(n.deployments, introduction{n.actor, incarnation});
  }

  struct member final : model_loader {
    void load(const deployment& line, std::function<void(load_outcome)> done) override {
      loads.push_back({line, std::move(done)});
    }
    incarnation_id incarnation;
    node_protocol actor;
    deployer_protocol deployments;
    std::vector<loading> loads;
    std::vector<deployment> lines;
    slot_ready slot;
    node_id scheduler = head;
    std::array<bool, 3> reaches{};                         ///< the others
    std::function<void(const deployment_report&)> report;  ///< passes it on to the scheduler
  };

  static node_protocol::behavior_type node_actor(node_protocol::pointer, member* of) {
    return {[](const control_frame&) {},
            [of](const slot_ready& s) { of->slot = s; },
            [of](const deployment_log& log) { of->lines.push_back(log.models.at(0)); },
            [of](const deployment_report& r) { of->report(r); },
            [](const peer_synchronised&) {},
            [](const peer_lost&) {},
            [](const group_report&) {},
            [](const report_query&) {},
            [](const command_query&) {},
            [](wake_atom) {},
            [](drain_atom) {}};
  }
  /// "NAME", or "NAME big" for another definition, or "NAME openvino" for a file that OpenVINO runs, or "NAME
  /// file" for one that nodes get from each other.
  static deployer::model_reading read(const std::string& text) {
    model_spec m;
    m.name = text.substr(0, text.find(' '));
    m.max_batch = text == m.name ? 1 : 64;
    if (text.ends_with(" openvino")) m.decided_engine = model_engine::openvino;
    if (text.ends_with(" file")) m.path = "/models/" + m.name;
    return {m, {}};
  }
  /// Discards frames to an earlier incarnation of a node, as its node actor does.
  void send(control_frame frame) override {
    const auto incarnation = frame.to.incarnation;
    if (incarnation != incarnation_id{} && incarnation != nodes_[frame.to.node.value].incarnation) return;
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
  int wake_ups_ = 0;  ///< requested; no test lets time pass
};

}  // namespace troupe::test
