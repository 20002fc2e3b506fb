// Outgoing connection of the TLS fabric, to one incarnation of one peer: frames and requests for pulls out,
// answers in. Until the peer is reached, everything waits in the write_queue.
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/tls/address.hpp"
#include "transport/fabric/tls/channel.hpp"
#include "transport/fabric/tls/shared_state.hpp"
#include "transport/fabric/tls/wire.hpp"
#include "transport/fabric/tls/write_queue.hpp"

namespace troupe::tls {

class outgoing final : public endpoint {
 public:
  /// `incarnation` is the peer's current one; the one in its address is that of its fabric. They differ after
  /// the node was declared dead and has joined again.
  outgoing(shared_state& shared, node_id peer, incarnation_id incarnation, uint32_t stream,
           const tls_address& at);
  ~outgoing() override;

  /// The peer was reached, or the reason why not.
  void dialled(int socket, std::unique_ptr<tls_session> session, const std::string& problem);

  node_id peer() const { return peer_; }
  incarnation_id incarnation() const { return incarnation_; }
  incarnation_id fabric_incarnation() const { return fabric_incarnation_; }
  uint32_t stream() const { return stream_; }
  /// Reason why the connection is broken; empty while it works.
  const std::string& broken() const { return broken_; }
  void break_off(std::string why);

  /// Frames and requests for pulls are written together, soon. A frame beyond a limit breaks the connection,
  /// so the frames that arrive are a prefix of those sent.
  void send(std::vector<std::byte> frame);
  void pull(pull_plan plan, pull_done done);
  bool ready() override;
  bool write() override;

  /// No frame or pull follows: the connection ends, broken, when the peer has all frames and says so.
  void finish();
  /// Ends all pulls with `lost`.
  void lose_pulls();

 private:
  enum class part { head, range };
  struct pending_pull {
    pull_plan plan;
    pull_done done;
    size_t next = 0;  ///< of its ranges, to be read
  };

  void write_soon();
  void expect_head();
  bool take();
  bool take_head();
  void expect_range();
  void end_pull(pull_status status);

  shared_state& shared_;
  const node_id peer_;
  const incarnation_id incarnation_, fabric_incarnation_;
  const uint32_t stream_;
  const std::vector<uint64_t> arena_sizes_;  ///< of the peer
  std::optional<channel> channel_;
  std::string broken_;
  bool finishing_ = false;  ///< no frame follows
  write_queue out_;

  part reading_ = part::head;
  std::span<std::byte> rest_;  ///< of the part that is being read
  head head_;
  std::deque<pending_pull> pulls_;  ///< in the order of their answers
};

}  // namespace troupe::tls
