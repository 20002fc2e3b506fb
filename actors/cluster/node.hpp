// node: one per process. Meets the other nodes, is the only failure detector (fed by both lanes and the
// silence between heartbeats), says once of each incarnation of a peer that it is up and that it is over, and
// drains. Opens and closes models as the deployer says.
//
// Where standbys are, it also knows who is the leader (policies/cluster/leader_election.hpp): it says
// so to its actors and in every hello, and on a candidate node it becomes the leader when its time has come.
//
// A node that drains leaves when its own actors have nothing left to do and every peer has sent its
// leave_ack: that nothing of the peer's is with it or on its way to it.
//
// Two nodes that lost each other must not go on as if nothing had happened: what one sent, the other may have
// discarded. So one of them begins a new incarnation: the junior one, which is the one that does not
// schedule, or else the one that could, because it has nothing to do; or else the later one in the file. A
// node that finds it was frozen begins a new incarnation too.
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
#include "policies/cluster/failure_detector.hpp"
#include "policies/cluster/leader_election.hpp"

namespace troupe {

/// What is wrong with a hello for good; nothing if it is one of this cluster.
std::optional<rejection> refuse_stranger(const cluster_spec& cluster, node_id self, const hello& h);

class node {
 public:
  using handle = node_protocol;
  static constexpr const char* name = "node";

  /// What the node needs of its environment; all references outlive it.
  struct environment {
    const cluster_spec& cluster;
    node_id self;
    const clock& time;
    data_lane& lane;
    troupe::post& post;
    control_lane& control;
    catalog& models;
    std::function<bool()> serves_llms;  ///< all language models were served once, where that is known
    deployer_protocol deployments;
    /// On the scheduler's node: begins or ends the model's queue; true if one began.
    std::function<bool(const deployment&)> on_queue;
    std::function<std::vector<uint8_t>()> data_address;
    std::function<incarnation_id(incarnation_id last)>
        next_incarnation;  ///< larger than any before on this node
    std::function<uint64_t(incarnation_id incarnation)>
        secret_of;  ///< that its peers show it on the data lane
    std::function<void(incarnation_id)>
        on_new_incarnation;  ///< renew what belongs to an incarnation (the pool)
    wake_service wake;
    std::function<void(bool)> on_ready;  ///< all nodes up and all models served, or no longer
    std::function<void()> on_drained;
    std::function<void(std::string)> on_refused;  ///< by the cluster, for good: another file or version
    on_broken broken;                             ///< it threw
  };

  node(handle::pointer self, environment s);
  handle::behavior_type make_behavior();

 private:
  enum class stage { unknown, connecting, up };
  struct peer {
    stage state = stage::unknown;
    incarnation_id incarnation;
    time_point connected_at = never;
    bool leaving = false;           ///< it sent a leave_notice: its end is no surprise
    bool leave_ack_due = false;     ///< its leave_notice is not answered yet
    bool asked_for = false;         ///< the CAF hosts were asked since its leave_notice
    bool leave_acked = false;       ///< it has answered ours
    bool broke = false;             ///< a connection to it did
    std::vector<slot_ready> early;  ///< its slots, said before it was up
  };

  void on_frame(const control_frame& f);
  void on_hello(const address& from, const hello& h);
  void on_rejection(const rejection& r);
  void on_peer_slot(const slot_ready& s);
  void on_local_slot(slot_ready s);
  void on_deployments(const deployment_log& log);
  void pass_on(const deployment_report& r);
  void on_synchronised(node_id id, incarnation_id incarnation);
  void on_lost(const peer_lost& l);
  void on_wake();
  void notice_freeze(time_point now);
  void on_report(const group_report& r);
  group_report report() const;
  command_reply on_command(const command& c) const;

  void send_hello(node_id to);
  void ask_caf_hosts();
  void send_leave_acks();
  void leave_if_done();
  void end_incarnations();
  void begin_new_incarnation(const char* why);
  void accept_slot(const slot_ready& s);
  void send_to_peers(caf::message body);
  void update_ready();
  void report_forged(time_point now);
  bool yields_to(node_id other) const;

  // leadership (node_leadership.cpp)
  void learn_leader(const leadership& t);
  void check_leader();
  bool scheduler_up() const;
  void update_scheduler_state();
  duration wake_interval() const;

  template <class M>
  void send(node_id to, M&& m) {
    env_.control.send({{env_.self, incarnation_, role::node, 0},
                       {to, {}, role::node, 0},
                       caf::make_message(std::forward<M>(m))});
  }

  handle::pointer self_;
  environment env_;
  incarnation_id incarnation_;
  std::vector<peer> peers_;
  const bool elected_;  ///< who schedules; else it is always the same node
  leader_election election_;
  node_id scheduler_;
  failure_detector detector_;
  std::vector<slot_ready> local_slots_;
  bool ready_ = false, ready_sent_ = false;
  bool met_ = false;  ///< somebody of this cluster: a later refusal is theirs, not ours
  time_point last_wake_ = never;
  time_point next_hello_ = long_ago;
  time_point next_beat_ = long_ago;
  bool draining_ = false;
  time_point drain_until_ = never;
  size_t reports_missing_ = 0;
  group_report gathered_;
  uint64_t forged_ = 0;  ///< frames, reported so far
  time_point forged_reported_ = long_ago;
  uint64_t messages_ = 0;  ///< control frames so far
};

}  // namespace troupe
