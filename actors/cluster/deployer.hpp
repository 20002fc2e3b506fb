// deployer: one per node. Keeps the log of deployments and sees to it that its node does its part: on workers
// models are loaded and let go, on gateways and the scheduler the node actor opens and closes them. That of
// the scheduler's node takes the commands and writes the log; the others pass commands on to it.
//
// Where standbys are, that of the leader decides. It knows the log
// already; the others tell it their logs, and which parts they have done.
//
// The log lives as long as one node that knows it. A scheduler that starts again learns it back from the
// others: it decides nothing before it has heard all of them, or has waited for three node timeouts.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "actors/cluster/own_deployments.hpp"
#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/model_loader.hpp"
#include "actors/runtime/supervision.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"

namespace troupe {

class deployer {
 public:
  using handle = deployer_protocol;
  static constexpr const char* name = "deployer";

  /// What a text comes to mean as a model.
  struct model_reading {
    model_spec definition;
    std::string problem;  ///< not empty: it is none
  };

  /// All references outlive the actor.
  struct environment {
    const cluster_spec& cluster;
    node_id self;
    const clock& time;
    control_lane& control;
    model_loader& devices;  ///< used on workers only
    std::function<model_reading(const std::string& text)> read_model;
    wake_service wake;
    std::function<void()> begin_drain;             ///< as SIGTERM does
    std::function<void(std::string)> on_unusable;  ///< a model of the cluster file cannot be loaded
    on_broken broken;
  };

  deployer(handle::pointer self, environment s);
  handle::behavior_type make_behavior();

 private:
  using answer = std::function<void(change_reply)>;
  using change = std::function<deployment_table::decision()>;

  /// A command that is not answered yet because its `wait` is not over.
  struct waiter {
    model_id model;
    deployment_state wanted;
    time_point until;
    uint32_t domain = no_domain;  ///< to which it is to be moved
    answer reply;
  };
  /// A command that another node's deployer is to answer.
  struct passed_on {
    node_id to;
    uint64_t token;
    answer reply;
  };
  struct held {
    change what;
    duration wait;
    answer reply;
  };
  static change_reply refused(std::string why) { return {0, false, false, 0, std::move(why)}; }

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
  void carry_out(const deploy& c, answer reply);
  void carry_out(const redeploy& c, answer reply);
  void carry_out(const undeploy& c, answer reply);
  void carry_out(const move_model& c, answer reply);
  void carry_out(const drain_node& c, answer reply);
  template <class Command>
  void pass_on(node_id to, Command c, answer reply);
  std::string still_leaving(const std::string& model) const;
  void decide(change what, duration wait, answer reply);
  void decide_now(const change& what, duration wait, const answer& reply);
  change_reply progress_of(const deployment& line) const;
  bool ready_to_decide() const;
  void answer_waiters();

  // The log and its parts.
  void on_frame(const control_frame& f);
  void on_peer(const peer_change& p);
  void forget_peer(node_id node, incarnation_id incarnation);
  void on_new_incarnation(incarnation_id incarnation);
  void on_leadership(const leadership& t);
  void send_parts();
  void publish(const deployment& line);
  void apply(const deployment& line);
  void on_loaded(const load_outcome& o);
  void on_idle(const model_idle& i);
  void send_slots(const std::vector<slot_id>& slots);
  void part_done(const deployment_part& part);
  void review();
  void move_on(const deployment& line);
  void wake_at(time_point t);
  group_report report() const;

  bool decides() const { return scheduler_ == env_.self; }
  const std::string& node_name(node_id n) const { return env_.cluster.nodes[n.value].name; }
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
  std::map<node_id, incarnation_id> peers_;  ///< that are up
  std::set<node_id> logs_received_;  ///< whose log was heard since this process began, or became the leader
  time_point decide_at_ = never;     ///< at the latest
  own_deployments own_;
  std::vector<held> held_;
  std::vector<waiter> waiters_;
  std::map<uint64_t, passed_on> passed_on_;
  time_point armed_ = never;  ///< it will be woken then at the latest
  uint64_t next_token_ = 0;   ///< begins with the incarnation: those of an earlier process are lower
  bool reviewing_ = false, again_ = false;
  uint64_t frames_ = 0;  ///< from other nodes so far
};

}  // namespace troupe
