// Link: connection of this process to one incarnation of one peer, with frames out, and pulls in and out.
// Used by the progress thread only. A link that is broken or no longer wanted is closed and may be destroyed
// once `idle`.
//
// UCX 1.13 aborts the process if an endpoint is closed while the two sides exchange the messages that connect
// it: the peer's request may be under way (ucp_ep_update_remote_id), or an answer to it may wait to be sent
// (ucp_wireup_ep_pending_purge, ucp_request_send_state_ff). So a link closes once that exchange is over. If
// the peer is suspended meanwhile, the link and what UCX has of it stay until the peer goes on or dies.
#pragma once
#include <ucp/api/ucp.h>

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transport/fabric/arenas.hpp"
#include "transport/fabric/fabric.hpp"
#include "transport/fabric/fabric_counters.hpp"
#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/pull_request.hpp"
#include "transport/fabric/ucx/address.hpp"
#include "transport/fabric/ucx/operation.hpp"
#include "transport/fabric/ucx/range_copies.hpp"
#include "transport/fabric/ucx/wire.hpp"
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe::ucx {

/// State shared by the links of a fabric.
struct link_shared_state {
  ucp_worker_h worker;  ///< of future links
  const ucx_options& options;
  arenas memory{};                ///< this process's own
  uint32_t next_pull_number = 0;  ///< of a pull by message
  size_t in_flight = 0;           ///< pending UCX calls of all links
  bool attention = false;         ///< a link has broken, or ended a step of opening, since this was cleared
  fabric_counters count{};
  range_copies copies{copy_priority::usual};  ///< pulls out of shared memory, by their links
  range_copies low_copies{copy_priority::low};
};

class link {
 public:
  /// `incarnation` is the peer's current one; the one in its address is that of its fabric. They differ after
  /// the node was declared dead and has joined again. Throws std::runtime_error if UCX cannot reach the
  /// address.
  link(link_shared_state& shared, node_id peer, incarnation_id incarnation, uint32_t stream,
       const ucx_address& address);
  ~link();
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  ucp_worker_h worker() const { return worker_; }
  node_id peer() const { return peer_; }
  incarnation_id incarnation() const { return incarnation_; }
  incarnation_id fabric_incarnation() const { return fabric_incarnation_; }
  /// Reason why the link is broken; empty while it works.
  const std::string& broken() const { return broken_; }
  void break_off(std::string why);

  /// A frame beyond a limit breaks the link, so the frames that arrive are a prefix of those sent.
  void send(std::vector<std::byte> frame);
  void pull(pull_plan plan, pull_done done);

  /// Answers a pull of the peer.
  void answer(uint32_t pull_number, const pull_request& request);
  void refuse(uint32_t pull_number);
  /// A part of a pull of this side has arrived. `data`: the bytes or, if `rendezvous`, UCX's token for them.
  /// Returns UCS_INPROGRESS if it has taken the token.
  ucs_status_t on_part(const message_head& part, void* data, size_t bytes, bool rendezvous);

  /// Starts to wait until everything sent so far has left the process; then `drained`. Pulls read no further
  /// ranges.
  void drain();
  bool drained() const { return drained_; }
  /// Ends pulls with `lost` and, as soon as it is open, cancels all pending calls. Call it again until
  /// `idle`.
  void close();
  /// Takes the next step of opening, outside UCX's calls, when `attention` is set.
  void open();
  bool idle() const { return closed_ && in_flight_ == 0; }
  /// Ends all pulls with `lost`. UCX must make no progress any more: it may still have their memory.
  void abandon();

 private:
  class message;
  class reply;
  class reply_part;
  class get;
  class part;
  class opening;
  class flush;
  class closing;

  /// A pull that the peer answers with messages.
  struct pulled {
    pull_plan plan;
    pull_done done;
    std::vector<bool> came;  ///< by number of an early range; the last ones are the one after these
    size_t to_come = 0;
    size_t receiving = 0;  ///< ranges that UCX is writing to
    bool begun = false, lost = false;
    bool over() const { return receiving == 0 && (lost || to_come == 0); }
  };
  /// Registered memory of the peer.
  struct remote_arena {
    uint64_t base = 0;                ///< its address in the peer's process
    ucp_rkey_h key = nullptr;         ///< null: no transport of this endpoint reads it
    bool one_sided = false;           ///< it is read without the peer's help, else by messages
    const std::byte* here = nullptr;  ///< its address in this process if it is shared memory
  };
  void unpack(const ucx_address::arena& arena);
  void destroy_keys();
  void copy(pull_plan plan, const std::vector<arena_place>& places, pull_done done);

  /// Maximum of ranges of a pull that UCX reads or sends at once: a window, since each holds a request of
  /// UCX.
  static constexpr size_t max_ranges_at_once = 32;
  /// Maximum size of a message that is copied to be sent inline, if UCX takes it at once.
  static constexpr size_t inline_bytes = 228;

  void end_copies();
  /// Whether it may read or send further ranges.
  bool goes_on() const { return endpoint_ != nullptr && !leaving_; }
  message_head head(message_kind kind, uint32_t number) const;
  void post(message_kind kind, uint32_t number, std::vector<std::byte> body);
  bool post_inline(const message_head& head, std::span<const std::byte> body);
  void started_one() {
    ++in_flight_;
    ++shared_.in_flight;
  }
  void finished_one(ucs_status_t status, const char* what);
  void end_pull(uint32_t pull_number, pull_status status);
  void abandon(get& pull);
  enum class opening_stage : uint8_t { connecting, connected, flushing, open };
  void reach(opening_stage stage);

  link_shared_state& shared_;
  ucp_worker_h worker_;
  node_id peer_;
  incarnation_id incarnation_, fabric_incarnation_;
  uint64_t secret_;
  uint32_t stream_;
  ucp_ep_h endpoint_ = nullptr;
  std::vector<remote_arena> arenas_;
  std::vector<uint64_t> arena_sizes_;
  opening_stage stage_{};
  bool leaving_ = false, drained_ = false, closed_ = false;
  std::string broken_;
  uint32_t next_number_ = 0;
  size_t unsent_frames_ = 0, unsent_bytes_ = 0;
  size_t in_flight_ = 0;                                          ///< pending UCX calls
  std::unordered_map<uint32_t, std::unique_ptr<pulled>> pulled_;  ///< by message, by pull_number
  std::unordered_set<get*> gets_;                                 ///< one-sided pulls
};

}  // namespace troupe::ucx
