// Incoming connection of the TLS fabric: frames and requests for pulls of one peer in, answers out.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "transport/fabric/inbox.hpp"
#include "transport/fabric/tls/channel.hpp"
#include "transport/fabric/tls/intake.hpp"
#include "transport/fabric/tls/shared_state.hpp"
#include "transport/fabric/tls/write_queue.hpp"

namespace troupe::tls {

class incoming final : public endpoint, intake_events {
 public:
  /// The inbox for the frames of the peer that sent this hello; null: the connection is refused.
  using greeting = std::function<inbox*(incoming&, const hello&)>;

  incoming(shared_state& shared, int socket, std::unique_ptr<tls_session> session, greeting greet);
  ~incoming() override;

  bool ready() override;
  /// Nothing more is read or written. It may be destroyed after the turn.
  void end();
  bool ended() const { return ended_; }
  /// Valid once it has been greeted.
  const hello& peer() const { return peer_; }

 private:
  /// Answers that wait for a peer that does not read them. While there are more, nothing is read from it.
  static constexpr size_t max_waiting = 256;

  bool write_answers();
  bool on_hello(const hello& h) override;
  void on_frame(std::span<const std::byte> bytes) override;
  void on_pull(pull_request request) override;

  shared_state& shared_;
  channel channel_;
  const greeting greet_;
  hello peer_;
  inbox* in_ = nullptr;
  uint32_t number_ = 0;  ///< of the next frame
  bool ended_ = false;
  intake intake_;
  write_queue answers_;
};

}  // namespace troupe::tls
