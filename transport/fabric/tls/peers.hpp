// The peers of this process on the TLS fabric: each has an inbox and an incoming connection for its frames
// and, while connected, an outgoing one.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/inbox.hpp"
#include "transport/fabric/tls/incoming.hpp"
#include "transport/fabric/tls/outgoing.hpp"
#include "transport/fabric/tls/shared_state.hpp"

namespace troupe::tls {

class peers {
 public:
  /// Begins to dial a peer; `dialled` is to be called with its stream.
  using on_dial = std::function<void(uint32_t stream, const tls_address& at)>;

  /// `shared` and `time` outlive it.
  peers(shared_state& shared, const clock& time, on_dial dial)
      : shared_(shared), clock_(time), dial_(std::move(dial)) {}

  // As in `carrier`.
  void connect(node_id node, incarnation_id incarnation, const std::string& address);
  void disconnect(node_id node);
  void renew();
  void send(node_id to, std::vector<std::byte> frame);
  void pull(node_id from, pull_plan plan, pull_done done);
  void break_all(const char* why);
  bool close_broken();
  void leave_all();
  bool parting() const { return !leaving_.empty(); }
  void abandon();

  /// The end of a dial: a socket with its session, or the problem.
  void dialled(uint32_t stream, int socket, std::unique_ptr<tls_session> session, const std::string& problem);
  /// A connection of a peer, after its handshake.
  void accept(int socket, std::unique_ptr<tls_session> session);

 private:
  struct peer {
    inbox in;
    std::unique_ptr<incoming> from;  ///< null if there is none
    std::unique_ptr<outgoing> to;    ///< null while not connected
  };
  struct leaving_connection {
    std::unique_ptr<outgoing> to;
    time_point until;  ///< when unsent frames are given up
  };
  static constexpr uint32_t max_nodes = 65536;
  static constexpr size_t max_silent = 64;  ///< connections without a hello; beyond, the oldest is closed

  /// Null if no node can have this number.
  peer* find(uint32_t node);
  outgoing* connection_to(node_id node);
  inbox* greet(incoming& from, const hello& h);
  void leave(std::unique_ptr<outgoing> to);
  void lose_broken();

  shared_state& shared_;
  const clock& clock_;
  const on_dial dial_;
  std::deque<peer> peers_;                         ///< by node; they do not move
  std::vector<std::unique_ptr<incoming>> silent_;  ///< without a hello, oldest first
  std::vector<std::unique_ptr<incoming>> former_;  ///< ended, to be destroyed after the turn
  std::vector<leaving_connection> leaving_;
  uint32_t next_stream_ = 1;
};

}  // namespace troupe::tls
