// post is the message router of a node. It carries messages between the node's actor groups and, over the
// data lane, to other nodes. Messages that arrive on the lane reach their CAF hosts as one delivery per host
// and turn. Messages to actors that the node does not have are dropped.
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

  /// Bytes that may wait for a CAF host of plug-in actors, which no other flow control bounds. Messages of
  /// actors beyond that are dropped.
  static constexpr size_t max_waiting = 64 << 20;

  // Wiring, before the first message.
  void set_lane(data_lane& lane) { lane_ = &lane; }
  void set_node_actor(node_protocol node) { node_ = std::move(node); }
  void set_deployer(deployer_protocol d) { deployer_ = std::move(d); }
  void add_caf_host(caf::actor caf_host, std::span<const address> actors);
  /// The CAF hosts of model queues, including queues of later models: queue i lives in `caf_hosts[i % size]`.
  void set_queue_caf_hosts(std::vector<caf::actor> caf_hosts);

  /// From any thread: to an actor of this node.
  void send(const address& to, actor_message message);
  /// From any thread: to all CAF hosts; for events that concern every actor.
  void broadcast(const actor_message& message);
  /// On the fabric's thread: like `send`, but part of this turn's deliveries. After `stop` it does nothing,
  /// on any thread.
  void send_with_turn(const address& to, actor_message message);

  /// From any thread: runs a command on an actor of this node; `reply` is called once, on its CAF host's
  /// thread. False, without a call, if no CAF host can have such an actor.
  bool ask(const address& to, command what, std::function<void(command_reply)> reply);

  /// Called before the fabric stops: pulls that end by that, on any thread, are not reported.
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

  // message_sink
  void carry(std::span<envelope> messages) override;
  // data_lane_events
  void deliver(std::vector<inbound>& messages) override;
  void on_turn_end() override;
  void on_synchronised(node_id peer, incarnation_id incarnation) override;
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override;

 private:
  static constexpr uint32_t no_host = ~0u;
  uint32_t caf_host_of(const address& to) const;
  void hand_over(size_t caf_host, message_batch& messages);

  const node_id self_;
  data_lane* lane_ = nullptr;
  node_protocol node_;
  deployer_protocol deployer_;
  std::vector<caf::actor> caf_hosts_;
  std::vector<std::shared_ptr<backlog>> backlogs_;  ///< by CAF host; null: not bounded here
  std::vector<uint32_t> queue_caf_hosts_;
  std::vector<std::vector<uint32_t>> caf_host_by_name_{role_count};  ///< role → index → CAF host
  std::vector<message_batch> turn_;  ///< by CAF host; the fabric's thread only
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace troupe
