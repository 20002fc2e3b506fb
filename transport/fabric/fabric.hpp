// Interface of the fabrics, which carry the data lane: they move frames and bulk bytes between processes.
// There are four: UCX (shared memory, TCP, RDMA), TLS, in-process, and simulated; and one over any other that
// paces pulls. A fabric knows nothing of messages (transport/data_lane/data_lane.hpp does).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/memory.hpp"
#include "messages/common/time.hpp"
#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/pull_status.hpp"

namespace troupe {

/// Callbacks of a fabric to its owner. Called on the fabric's thread, never concurrently. The end of a pull,
/// and of its turn, may also be called within the call that began it.
class fabric_events {
 public:
  virtual ~fabric_events() = default;
  /// A frame arrived. `bytes` is 8-byte aligned and valid during the call only. Frames of one sender arrive
  /// in order.
  virtual void on_frame(std::span<const std::byte> bytes) = 0;
  /// The connection to this incarnation of a peer broke. Nothing more arrives from it, and sent frames may be
  /// lost.
  virtual void on_lost(node_id peer, incarnation_id incarnation, std::string why) = 0;
  /// The end of a turn of the progress loop: all ready frames have been handed over; deliver them. It may
  /// take as long as a turn of an actor.
  virtual void on_turn_end() = 0;
  /// When to call `on_tick` next (heartbeats); `never` if not at all.
  virtual time_point tick_at() const = 0;
  virtual void on_tick(time_point now) = 0;
};

using pull_done = std::function<void(pull_status)>;

/// Memory that peers may pull from: allocated by the fabric (only its own memory is one-sided over shared
/// memory), page-aligned, zeroed, alive as long as the fabric.
struct registered_memory {
  std::span<std::byte> bytes;
  memory_kind kind = memory_kind::host;
  uint64_t offset = 0;  ///< of its first byte, in pulls of peers; 0 for the first memory of a process
};

/// Counters of a fabric since its creation.
struct fabric_stats {
  uint64_t frames_out = 0, bytes_out = 0;  ///< handed to the carrier
  uint64_t frames_in = 0, bytes_in = 0;    ///< delivered to `on_frame`
  uint64_t discarded_out = 0;              ///< not sent: no connection, or one that this frame broke
  uint64_t discarded_in = 0;               ///< arrived from or for an ended incarnation
  uint64_t pulls = 0, bytes_pulled = 0;    ///< pulls that ended with `ok`
  uint64_t sleeps = 0;                     ///< times that the fabric's thread waited for events
};

class fabric {
 public:
  virtual ~fabric() = default;

  /// Allocates and registers an arena of this process, of `max_arenas` at most (transport/fabric/arenas.hpp).
  /// Before `start` and `address`. Throws std::runtime_error with the reason.
  virtual registered_memory allocate(memory_kind kind, size_t bytes) = 0;
  /// Whether peers can pull from memory of this kind without staging it in host memory first.
  virtual bool reaches(memory_kind kind) const = 0;
  /// Starts delivering to `events`, which outlives the fabric's running.
  virtual void start(fabric_events& events) = 0;
  /// Stops: no event is called after it returns. Idempotent.
  virtual void stop() = 0;

  /// Address by which peers reach this process: opaque, checksummed, sent over the control lane.
  virtual std::string address() const = 0;

  // From any thread. These return at once; the fabric keeps their order per peer.

  /// Connects to an incarnation of a peer, replacing any earlier one. A malformed address is reported through
  /// `on_lost`.
  virtual void connect(node_id peer, incarnation_id incarnation, std::string address) = 0;
  virtual void disconnect(node_id peer) = 0;
  /// This process begins a new incarnation. All peers are disconnected. If the carrier could confuse
  /// connections of the two incarnations, `address` is a new one when this returns. Throws std::runtime_error
  /// if the carrier cannot.
  virtual void renew() = 0;
  /// Sends one frame. Frames to a peer that is not connected are discarded (counted in `stats`): a lost peer
  /// is handled by the failure detector. A frame beyond the size limit or the limits of unsent frames breaks
  /// the connection (`on_lost`), so the frames that arrive are always a prefix of those sent.
  virtual void send(node_id peer, std::vector<std::byte> frame) = 0;
  /// Copies the plan's ranges of the peer's registered memory to where their bytes go, which must stay valid
  /// until `done` is called: exactly once, for all of them, on the fabric's thread or within this call, with
  /// `lost` if the fabric has been stopped or the peer disconnected. A range outside the peer's memory
  /// refuses the pull. A pull can succeed although the peer has died: verify the bytes
  /// (transport/memory/pull_check.hpp).
  virtual void begin_pull(node_id peer, pull_plan plan, pull_done done) = 0;
  /// Pulls one range, and reads its first and last 16 bytes after everything between them, so that words
  /// there can vouch for it.
  void pull(node_id peer, uint64_t offset, std::span<std::byte> into, pull_done done) {
    begin_pull(peer, plan_with_ends(offset, into), std::move(done));
  }
  /// The same for bytes that nobody waits for at this moment, such as weights: where this process copies them
  /// itself, its other threads come first.
  void pull_bulk(node_id peer, uint64_t offset, std::span<std::byte> into, pull_done done) {
    begin_pull(peer, plan_with_ends(offset, into, true), std::move(done));
  }
  /// Runs `job` on the fabric's thread.
  virtual void post(std::function<void()> job) = 0;

  virtual fabric_stats stats() const { return {}; }
};

}  // namespace troupe
