// post: one per node. Carries messages between the actor groups of the node and, over the data lane,
// to other nodes; hands what arrives there to the right CAF host, as one delivery a CAF host and turn.
#pragma once
#include <atomic>
#include <caf/actor.hpp>
#include <span>
#include <string>
#include <vector>

#include "actors/common/backlog.hpp"
#include "actors/runtime/actor_group.hpp"
#include "actors/runtime/caf_types.hpp"
#include "transport/data_lane/data_lane.hpp"

namespace troupe {

class post final : public message_sink, public data_lane_events {
 public:
  explicit post(node_id self) : self_(self) {}

  /// Bytes that may wait for a CAF host of actors of plug-ins, which nothing else bounds. What other actors
  /// send beyond that is dropped.
  static constexpr size_t max_waiting = 64 << 20;

  // Wiring, before anything runs.
  void set_lane(data_lane& lane) { lane_ = &lane; }
  void set_node_actor(node_protocol node) { node_ = std::move(node); }
  void set_deployer(deployer_protocol d) { deployer_ = std::move(d); }
  void add_caf_host(caf::actor caf_host, std::span<const address> actors);
  /// Where model queues live, also those that are yet to come: that with index i in `hosts[i % size]`.
  void set_queue_caf_hosts(std::vector<caf::actor> caf_hosts);

  /// From any thread: to an actor of this node.
  void send(const address& to, actor_message message);
  /// From any thread: to all CAF hosts; for events that concern every actor.
  void broadcast(const actor_message& message);
  /// On the fabric's thread: like `send`, but travels with what this turn delivers. On any once it was
  /// stopped.
  void send_with_turn(const address& to, actor_message message);

  /// From any thread: lets an actor of this node do what `what` says; `reply` is called once, on its CAF
  /// host's thread. False, and no call, if there is no such actor.
  bool ask(const address& to, command what, std::function<void(command_reply)> reply);

  /// Before the fabric stops: what that then ends, on whichever thread, is told to nobody any more.
  void stop() { stopped_ = true; }

  const node_protocol& node_actor() const { return node_; }
  const deployer_protocol& deployer_actor() const { return deployer_; }
  const std::vector<caf::actor>& caf_hosts() const { return caf_hosts_; }
  /// Messages to actors of plug-ins that were dropped.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// Requires queue CAF hosts.
  const caf::actor& queue_caf_host(model_id model) const {
    return caf_hosts_[queue_caf_hosts_[model.value % queue_caf_hosts_.size()]];
  }

  // carrier
  void carry(std::span<envelope> messages) override;
  // data_lane_events
  void deliver(std::vector<inbound>& messages) override;
  void on_turn_end() override;
  void on_synchronised(node_id peer, incarnation_id incarnation) override;
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override;

 private:
  static constexpr uint32_t nobody = ~0u;
  uint32_t caf_host_of(const address& to) const;
  void hand_over(size_t caf_host, message_batch& messages);

  const node_id self_;
  data_lane* lane_ = nullptr;
  node_protocol node_;
  deployer_protocol deployer_;
  std::vector<caf::actor> caf_hosts_;
  std::vector<std::shared_ptr<backlog>>
      backlogs_;  ///< by CAF host; null: what it is sent has a bound already
  std::vector<uint32_t> queue_caf_hosts_;
  std::vector<std::vector<uint32_t>> caf_host_by_name_{role_count};  ///< role → index → CAF host
  std::vector<message_batch> turn_;  ///< by CAF host; the fabric's thread only
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace troupe
