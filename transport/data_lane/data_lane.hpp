// Data lane: typed messages between actors of different nodes, over any fabric. It encodes messages, discards
// those of ended incarnations or without this incarnation's secret, estimates every peer's clock offset from
// heartbeats, and converts times on delivery.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messages/wire/wire.hpp"
#include "transport/data_lane/clock_offset.hpp"
#include "transport/data_lane/frame.hpp"
#include "transport/data_lane/round_trips.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

struct inbound {
  address from;
  address to;
  wire_message body;
};

/// Callbacks of the lane to its owner, on the fabric's thread.
class data_lane_events {
 public:
  virtual ~data_lane_events() = default;
  /// All messages of one turn of the progress loop, in order of arrival per sender. Times are of this node's
  /// clock.
  virtual void deliver(std::vector<inbound>& messages) = 0;
  /// After `deliver`, and after every other turn.
  virtual void on_turn_end() = 0;
  /// Both sides know each other's clock: messages may flow.
  virtual void on_synchronised(node_id peer, incarnation_id incarnation) = 0;
  virtual void on_lost(node_id peer, incarnation_id incarnation, std::string why) = 0;
};

struct data_lane_stats {
  std::atomic<uint64_t> sent{0}, received{0};
  std::atomic<uint64_t> stale{0};  ///< from or to an unknown or ended incarnation
  std::atomic<uint64_t> malformed{0};
  std::atomic<uint64_t> forged{0};  ///< without the secret of this incarnation
  round_trips heartbeats;
};

class data_lane final : public fabric_events {
 public:
  struct options {
    node_id self;
    incarnation_id incarnation;
    uint64_t secret = 0;  ///< random; peers learn it over the control lane and put it into every frame
    size_t nodes = 0;     ///< in the cluster
    duration heartbeat = 250ms;
  };

  /// `carrier`, `time` and `events` outlive the lane's running.
  data_lane(fabric& carrier, const clock& time, data_lane_events& events, const options& o);
  ~data_lane() override;

  void start() { fabric_.start(*this); }
  void stop() { fabric_.stop(); }

  // From any thread.

  /// `secret` and `address`: from the hello of that incarnation of the peer.
  void connect(node_id peer, incarnation_id incarnation, uint64_t secret, std::vector<uint8_t> address);
  /// Disconnects this incarnation of the peer: nothing more is sent to it or delivered from it.
  void disconnect(node_id peer, incarnation_id incarnation);
  /// This node begins a new incarnation: messages on their way to the old one are discarded, and all peers
  /// are forgotten.
  void renew(incarnation_id incarnation, uint64_t secret);
  uint64_t secret() const { return secret_.load(std::memory_order_relaxed); }
  incarnation_id incarnation() const { return incarnation_id{incarnation_.load(std::memory_order_acquire)}; }
  /// The current incarnation of the peer; 0 if it is not connected.
  incarnation_id incarnation_of(node_id peer) const;
  /// When the peer was last heard of, `long_ago` if never.
  time_point last_heard(node_id peer) const;
  /// Latest estimate of the peer's clock minus this node's.
  duration clock_offset_of(node_id peer) const;
  /// Bound of the error of the peer's clock conversion; nothing if not synchronised.
  duration clock_error(node_id peer) const;

  /// Sends to `to.node`, which is not this node. `to.incarnation` 0 means its current one; `from.incarnation`
  /// 0 means this node's. Messages that cannot be sent, or that come from an earlier incarnation of this
  /// node, are discarded: a lost peer is handled by the failure detector.
  void send(const address& from, const address& to, const wire_message& message);

  /// Pings the peer now, in addition to the heartbeats.
  void ping_now(node_id peer);

  /// Copies the region `from`, with the words around it, into `into` (`transport/memory/pull_check.hpp` gives
  /// its size). `done` is called once, on the fabric's thread; verify the bytes then.
  void pull(const region_ref& from, std::span<std::byte> into, pull_done done);
  /// Copies ranges of memory of `lease.node` (transport/memory/leased_pull.hpp).
  void pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, pull_done done);
  /// Copies bytes of a peer's registered memory without any word that vouches for them: verify their hash.
  /// Other work comes first (fabric.hpp).
  void pull_bulk(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done);

  const data_lane_stats& stats() const { return stats_; }

  // fabric_events
  void on_frame(std::span<const std::byte> bytes) override;
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override;
  void on_turn_end() override;
  time_point tick_at() const override { return next_tick_; }
  void on_tick(time_point now) override;

 private:
  struct peer {
    std::atomic<uint64_t> incarnation{0};
    std::atomic<uint64_t> secret{0};
    std::atomic<int64_t> last_heard{long_ago.time_since_epoch().count()};
    std::atomic<int64_t> clock_error{-1}, clock_offset{0};
    // The fabric's thread only:
    troupe::clock_offset offset;
    bool announced = false;
  };

  void announce(const frame_header& header, bool peer_knows_us);
  void answer(const ping& p, const frame_header& header, time_point now);
  void learn(const pong& p, const frame_header& header, time_point now);
  bool synchronised(const peer& p) const { return p.offset.known(); }

  fabric& fabric_;
  const clock& clock_;
  data_lane_events& events_;
  const node_id self_;
  const duration heartbeat_;
  std::atomic<uint64_t> incarnation_;
  std::atomic<uint64_t> secret_;
  std::vector<std::unique_ptr<peer>> peers_;
  std::vector<inbound> inbound_;
  time_point next_tick_ = long_ago;
  data_lane_stats stats_;
};

}  // namespace troupe
