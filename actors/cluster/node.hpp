// node: one per process. Connects to its peers, runs the only failure detector of its process (fed by both
// lanes), announces node_up and node_down once for each incarnation of a peer, and drains. Opens and closes
// models as the deployer says.
//
// With standbys it also knows the leader (policies/cluster/active_scheduler.hpp): it announces the leader to
// its actors and in every hello, and on a candidate it begins the leadership when its turn has come.
//
// If two nodes lose each other, each may have discarded messages of the other. So one of them begins a new
// incarnation (active_scheduler::yields_to). A node that was frozen, or that hears no process of its host
// over the data lane, begins a new incarnation too.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/post.hpp"
#include "actors/tensor/catalog.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/cluster/active_scheduler.hpp"
#include "policies/cluster/deaf_detector.hpp"
#include "policies/cluster/freeze_detector.hpp"
#include "policies/cluster/node_drain.hpp"
#include "policies/cluster/peer_table.hpp"
#include "policies/common/counter_growth.hpp"

namespace troupe {

class node {
 public:
  using handle = node_protocol;
  static constexpr const char* name = "node";

  /// Parts of the node's environment; all references outlive it.
  struct environment {
    const cluster_spec& cluster;
    node_id self;
    const clock& time;
    data_lane& lane;
    troupe::post& post;
    control_lane& control;
    catalog& models;
    /// All language models have been served once; true on nodes that do not know.
    std::function<bool()> serves_llms;
    deployer_protocol deployments;
    /// On the scheduler's node: begins or ends the model's queue; true if one began.
    std::function<bool(const deployment&)> on_queue;
    std::function<std::vector<uint8_t>()> data_address;
    /// Larger than any earlier incarnation of this node.
    std::function<incarnation_id(incarnation_id last)> next_incarnation;
    /// Secret that the frames of peers must carry on the data lane.
    std::function<uint64_t(incarnation_id incarnation)> secret_of;
    /// Renews the parts that belong to an incarnation, such as the slot pool.
    std::function<void(incarnation_id)> on_new_incarnation;
    wake_service wake;
    std::function<void(bool)> on_ready;  ///< all nodes are up and all models served, or no longer
    std::function<void()> on_drained;
    std::function<void(std::string)> on_refused;  ///< for good: another cluster file or version
    on_broken broken;                             ///< the actor threw an exception
  };

  node(handle::pointer self, environment s);
  handle::behavior_type make_behavior();

 private:
  void on_frame(const control_frame& f);
  void on_hello(const control_frame& f, const hello& h);
  bool on_leader_of(const hello& h);
  void on_rejection(const rejection& r);
  void on_local_slot(slot_ready s);
  void on_deployments(const deployment_log& log);
  void on_synchronised(node_id id, incarnation_id incarnation);
  void on_lost(const peer_lost& l);
  void on_report(const group_report& r);
  void on_wake();
  group_report report() const;
  command_reply on_command(const command& c) const;

  void send_hello(node_id to, incarnation_id heard_of);
  void accept_slot(const slot_ready& s);
  void end_incarnations();
  void begin_new_incarnation(const char* why);
  void learn_leader(const leadership& latest);
  void check_leader();
  void update_ready();

  template <class M>
  void send(node_id to, M&& m, role kind = role::node) {
    env_.control.send(
        {{env_.self, incarnation_, kind, 0}, {to, {}, kind, 0}, caf::make_message(std::forward<M>(m))});
  }

  handle::pointer self_;
  environment env_;
  incarnation_id incarnation_;
  peer_table peers_;
  node_drain drain_;
  active_scheduler scheduler_;
  freeze_detector freezes_;
  deaf_detector deaf_;
  counter_growth forged_{1s};  ///< data-lane frames without this incarnation's secret
  std::vector<slot_ready> local_slots_;
  bool ready_ = false;
  bool met_ = false;  ///< a node of this cluster: later rejections concern its state, not this node's file
  time_point next_hello_ = long_ago;
  uint64_t messages_ = 0;  ///< control frames so far
};

}  // namespace troupe
