// Network of a simulated cluster: it delays, orders and loses packets between nodes, and applies faults. It
// carries both lanes as bytes; a simulated fabric (sim_fabric.hpp) is the data lane's endpoint.
#pragma once
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "transport/fabric/flow_network.hpp"

namespace troupe {

/// Kinds of events. Simultaneous events run in this order.
enum class sim_event : uint8_t { fault, network, pull, job, tick, wake, client };

/// The simulation's global time, since its beginning. No node can read it.
class sim_timeline {
 public:
  virtual ~sim_timeline() = default;
  virtual duration now() const = 0;
  /// Runs `action` at `t` as the current process of `owner`: later if the node is frozen then, never if that
  /// process has ended.
  virtual void at(duration t, sim_event kind, node_id owner, std::function<void()> action) = 0;
  /// Like `at`, at a time of the owner's clock.
  virtual void at_local(time_point t, sim_event kind, node_id owner, std::function<void()> action) = 0;
  /// Like `at`, of no process: it always runs.
  virtual void at(duration t, sim_event kind, std::function<void()> action) = 0;
  virtual uint64_t draw() = 0;  ///< the next random number
};

enum class sim_lane : uint8_t { data, control };

struct sim_packet {
  duration arrival{};
  uint64_t connection = 0;  ///< data lane: the connection that it was sent on
  std::vector<std::byte> bytes;
};

/// A process's end of a lane.
class sim_port {
 public:
  virtual ~sim_port() = default;
  /// All packets that arrived from one node by now, in sending order.
  virtual void receive(node_id from, std::span<sim_packet> packets) = 0;
  /// The connection to the peer is lost: nothing sent from now on arrives, but the process notices only at
  /// `noticed_at`.
  virtual void broken(node_id peer, duration noticed_at) = 0;
};

/// Single-threaded. A node's interface is full duplex. Frames and short pulls take their turns on both
/// interfaces. Long pulls share the interfaces and the uplinks of leaf switches max-min fairly. Neither
/// delays the other: frames are few bytes beside what long pulls move. Long pulls inside a scale-up domain
/// share its interfaces instead.
class sim_network {
 public:
  struct options {
    double gbit_per_s = 10;  ///< of nodes without a [[link]]
    duration data_latency = 15us, data_jitter = 10us;
    duration control_latency = 80us, control_jitter = 200us;
    duration burst = 400us;    ///< one packet in 512 takes up to this longer
    duration turn = 5us;       ///< packets that reach a fabric within this time are handed over together
    uint64_t image_scale = 1;  ///< bytes that each byte pulled from an arena of images stands for
  };

  sim_network(sim_timeline& timeline, const cluster_spec& cluster, const options& o);

  duration turn() const { return options_.turn; }

  void attach(node_id node, sim_lane lane, sim_port* port);  ///< null: detaches
  /// The process on `node` has died: nothing reaches it any more, and a suffix of its sent packets is lost.
  /// Peers notice by a broken connection (`reset`) or only by its silence.
  void crash(node_id node, bool reset);

  /// In order per pair of nodes and lane.
  void send(node_id from, node_id to, sim_lane lane, uint64_t connection, std::vector<std::byte> bytes);
  /// Arrival time of a packet of this size that is sent now.
  duration transfer(node_id from, node_id to, uint64_t bytes);
  /// Moves more than `max_packet` bytes from now on; then runs `action` for the process on node `to`.
  void move(node_id from, node_id to, uint64_t bytes, std::function<void()> action);
  static constexpr uint64_t max_packet = 64u << 10;
  uint64_t image_scale() const { return options_.image_scale; }
  bool share_domain(node_id a, node_id b) const;
  /// Bytes of images that have come from other nodes.
  struct image_bytes {
    uint64_t network = 0, scale_up = 0;
  };
  void count_images(node_id from, node_id to, uint64_t bytes) {
    if (from != to) (share_domain(from, to) ? pulled_.scale_up : pulled_.network) += bytes;
  }
  const image_bytes& pulled_images() const { return pulled_; }
  bool stalled(node_id a, node_id b) const { return between(a, b).stalls > 0; }
  bool is_cut(node_id a, node_id b) const { return between(a, b).cuts > 0; }
  /// Runs `action` for process `owner` once no stall is between the nodes.
  void when_passing(node_id a, node_id b, node_id owner, std::function<void()> action);

  // Faults. Each `begin` is ended by its own `end`; faults may overlap.
  void begin_delay(node_id a, node_id b, duration extra) { between(a, b).extra += extra; }
  void end_delay(node_id a, node_id b, duration extra) { between(a, b).extra -= extra; }
  void begin_reorder(node_id a, node_id b, duration extra) { between(a, b).reorder += extra; }
  void end_reorder(node_id a, node_id b, duration extra) { between(a, b).reorder -= extra; }
  /// Long pulls of this node from the arenas of images arrive with a wrong byte, every other one.
  void begin_corruption(node_id node) { ++corrupted_[node]; }
  void end_corruption(node_id node) { --corrupted_[node]; }
  bool corrupts(node_id node) const {
    const auto found = corrupted_.find(node);
    return found != corrupted_.end() && found->second > 0;
  }
  /// Nothing arrives at the node over the data lane until `hear_again`, and no connection breaks.
  void deafen(node_id node) { deaf_[node.value] = true; }
  void hear_again(node_id node) { deaf_[node.value] = false; }
  void begin_slow(node_id a, node_id b, double gbit_per_s);
  void end_slow(node_id a, node_id b, double gbit_per_s);
  void begin_stall(node_id a, node_id b) { ++between(a, b).stalls; }
  void end_stall(node_id a, node_id b);
  void begin_cut(node_id a, node_id b, duration until);
  void end_cut(node_id a, node_id b) { --between(a, b).cuts; }

 private:
  std::map<node_id, uint32_t> corrupted_;  ///< faults under way
  struct pair {
    duration extra{}, reorder{};
    std::vector<double> slow;
    /// Limits of long pulls in both directions, from the first slow link on; the lower node sends first.
    std::optional<std::array<flow_network::resource, 2>> limits;
    int stalls = 0, cuts = 0;
    std::vector<std::pair<node_id, std::function<void()>>> waiting;
  };
  struct channel {  ///< one lane, one direction
    std::deque<sim_packet> in_flight;
    duration last_arrival{};
  };
  struct interface {
    double gbit_per_s;
    duration sends_until{}, receives_until{};
    flow_network::resource out = 0, in = 0;
    uint32_t leaf = no_leaf;
    std::string domain = {};  ///< scale-up domain; empty: none
    flow_network::resource domain_out = 0, domain_in = 0;
  };
  struct leaf_switch {
    flow_network::resource up = 0, down = 0;
  };
  struct long_pull {
    node_id from, to;
    std::function<void()> action;
  };
  static constexpr uint32_t no_leaf = ~0u;

  pair& between(node_id a, node_id b) { return pairs_[std::min(a, b).value * nodes_ + std::max(a, b).value]; }
  const pair& between(node_id a, node_id b) const { return const_cast<sim_network*>(this)->between(a, b); }
  size_t index_of(node_id from, node_id to, sim_lane lane) const {
    return (from.value * nodes_ + to.value) * 2 + static_cast<size_t>(lane);
  }
  channel& of(node_id from, node_id to, sim_lane lane) { return channels_[index_of(from, to, lane)]; }
  duration jitter(duration up_to);
  /// Delivers packets of the channel with this index.
  void arrive(size_t which);
  void lose_suffix(channel& c);

  void connect_leaves(const cluster_spec& cluster);
  void connect_domains(const cluster_spec& cluster);
  /// What a long pull shares with others.
  std::vector<flow_network::resource> way(node_id from, node_id to);
  void set_limits(node_id a, node_id b);
  /// Schedules the next end of a long pull.
  void arm();
  void end_pulls();

  sim_timeline& timeline_;
  const options options_;
  const size_t nodes_;
  std::vector<pair> pairs_;
  std::vector<channel> channels_;
  std::vector<interface> interfaces_;
  std::vector<leaf_switch> leaves_;
  std::vector<std::array<sim_port*, 2>> ports_;
  std::vector<bool> deaf_;  ///< by node
  flow_network flows_;
  image_bytes pulled_;
  std::map<flow_network::flow, long_pull> pulls_;
  duration armed_ = duration::max();
};

}  // namespace troupe
