// TLS handshaker: performs the handshakes of incoming connections on a thread of its own. So a peer without a
// certificate costs no more than a socket for a few seconds.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "messages/common/time.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

class tls_handshaker {
 public:
  struct options {
    size_t max_handshakes = 64;  ///< concurrent handshakes; beyond, the oldest silent one is closed
    duration timeout = 5s;       ///< for one handshake
  };
  /// A handshake is done: the socket, now the receiver's, and its session. On the handshaker's thread.
  using on_success = std::function<void(int socket, std::unique_ptr<tls_session>)>;
  /// A handshake failed; the socket is closed. `from`: the peer's address. On the handshaker's thread. Not
  /// called for peers that disconnect without sending a byte: probes do, and nodes before they dial.
  using on_failure = std::function<void(const std::string& from, const std::string& why)>;

  /// `context` and `time` outlive it.
  tls_handshaker(const tls_context& context, const clock& time, on_failure failed, options o);
  tls_handshaker(const tls_context& context, const clock& time, on_failure failed)
      : tls_handshaker(context, time, std::move(failed), options{}) {}
  /// Closes the sockets whose handshake is not done.
  ~tls_handshaker();
  tls_handshaker(const tls_handshaker&) = delete;
  tls_handshaker& operator=(const tls_handshaker&) = delete;

  /// Takes a connected, non-blocking socket. From any thread. The socket is closed at once if 4 ×
  /// `max_handshakes` others wait to be taken by the handshaker.
  void start(int socket, on_success done);

 private:
  struct handshake {
    int socket;
    std::unique_ptr<tls_session> session;
    on_success done;
    time_point until;
    short wants;  // poll's events
  };
  void run();
  void take_queued();
  void evict_one();
  bool advance(handshake& g);
  void reject(handshake& g, const std::string& why);

  const tls_context& context_;
  const clock& time_;
  const on_failure failed_;
  const options options_;
  int wake_ = -1;  // eventfd
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<std::pair<int, on_success>> queued_;
  std::vector<handshake> handshakes_;  // oldest first; used by the thread only
  std::thread thread_;
};

}  // namespace troupe
