// deployer: one per node. Keeps the deployment log and applies it on its node: workers load and release
// models, and the node actor opens and closes them on gateways and the scheduler. The deployer of the
// scheduler's node, or of the leader where there are standbys, takes commands and writes the log. The others
// pass commands on to it, and report to it what their nodes have applied.
//
// The log lives as long as one node that knows it. A scheduler that starts again learns it from the others
// (policies/cluster/log_recovery.hpp).
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/cluster/own_deployments.hpp"
#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/model_loader.hpp"
#include "actors/runtime/supervision.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/cluster/deployment_change.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"
#include "policies/cluster/forwarded_commands.hpp"
#include "policies/cluster/log_recovery.hpp"
#include "policies/cluster/pending_changes.hpp"

namespace troupe {

class deployer {
 public:
  using handle = deployer_protocol;
  static constexpr const char* name = "deployer";

  /// A model definition read from text.
  struct model_reading {
    model_spec definition;
    std::string problem;  ///< not empty: the text is not a definition
  };

  /// All references outlive the actor.
  struct environment {
    const cluster_spec& cluster;
    node_id self;
    const clock& time;
    control_lane& control;
    model_loader& devices;      ///< used on workers only
    bool files_travel = false;  ///< the node has a parameter shard that gets the files of models
    std::function<model_reading(const std::string& text)> read_model;
    wake_service wake;
    std::function<void()> begin_drain;  ///< as on SIGTERM
    /// A model of the cluster file cannot be loaded; `transient`: not because of its files.
    std::function<void(std::string, bool transient)> on_unusable;
    on_broken broken;  ///< the actor threw an exception
  };

  deployer(handle::pointer self, environment s);
  handle::behavior_type make_behavior();

 private:
  using answer = std::function<void(change_reply)>;
  static constexpr size_t max_commands = 256;  // held, pending and forwarded ones, each

  /// A change that is not decided yet, because the log is not recovered.
  struct held_change {
    deployment_change what;
    duration wait;  ///< of the client, once the change is decided
    answer reply;
  };

  // Commands (deployer_commands.cpp).
  template <class Command>
  caf::result<change_reply> on_command(const Command& c) {
    auto promise = self_->make_response_promise<change_reply>();
    carry_out(c, [promise, token = c.token](change_reply r) mutable {
      r.token = token;
      promise.deliver(std::move(r));
    });
    return promise;
  }
  void carry_out(const drain_node& c, answer reply);
  template <class Command>  // deploy, redeploy, undeploy, move_model
  void carry_out(const Command& c, answer reply);
  template <class Command>
  void pass_on(node_id to, Command c, answer reply);
  void decide(held_change h);

  // The log, and this node's part of it.
  void on_frame(const control_frame& f);
  void on_peer(const peer_change& p);
  void forget_peer(node_id node, incarnation_id incarnation);
  void on_new_incarnation(incarnation_id incarnation);
  void on_leadership(const leadership& latest);
  void publish(const deployment& line);
  void apply(const deployment& line);
  void load(const deployment& line);
  void on_loaded(const load_outcome& o);
  void send_slots(const std::vector<slot_id>& slots);
  void part_done(const deployment_part& part);
  void review();
  group_report report() const;

  bool decides() const { return scheduler_ == env_.self; }
  template <class M>
  void send(node_id to, M&& m, incarnation_id incarnation = {}) {
    env_.control.send({{env_.self, incarnation_, role::deployer, 0},
                       {to, incarnation, role::deployer, 0},
                       caf::make_message(std::forward<M>(m))});
  }

  handle::pointer self_;
  environment env_;
  node_protocol node_;
  node_id scheduler_;
  incarnation_id incarnation_;
  deployment_table table_;
  deployment_progress progress_;
  own_deployments own_;
  std::vector<deployment> waiting_for_files_;  ///< lines whose models are loaded then
  std::map<node_id, incarnation_id> peers_;    ///< nodes that are up
  log_recovery recovery_;
  std::vector<held_change> held_;
  pending_changes pending_;
  forwarded_commands forwarded_;
  time_point wakes_at_ = never;  ///< the earliest wake-up that was asked for
  bool reviewing_ = false, again_ = false;
  uint64_t frames_ = 0;  ///< from other nodes so far
};

}  // namespace troupe
