// tls_doorkeeper: shakes hands with whoever connects, on a thread of its own, so that nobody who cannot show
// a certificate costs more than a socket for a few seconds.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "messages/time.hpp"
#include "transport/tls.hpp"

namespace troupe {

class tls_doorkeeper {
 public:
  struct options {
    size_t max_handshakes = 64;  ///< handshakes at once; beyond, the oldest that is silent gives way
    duration patience = 5s;      ///< for one handshake
  };
  /// A handshake is done: the socket, now the receiver's, and its session. On the doorkeeper's thread.
  using welcome = std::function<void(int socket, std::unique_ptr<tls_session>)>;
  /// It failed; the socket is closed. `from`: the peer's address. On the doorkeeper's thread. Not called for
  /// a peer that went away without a word: probes do, and nodes before they dial.
  using refusal = std::function<void(const std::string& from, const std::string& why)>;

  /// `context` and `time` outlive it.
  tls_doorkeeper(const tls_context& context, const clock& time, refusal refused, options o);
  tls_doorkeeper(const tls_context& context, const clock& time, refusal refused)
      : tls_doorkeeper(context, time, std::move(refused), options{}) {}
  /// Closes the sockets that are not welcome yet.
  ~tls_doorkeeper();
  tls_doorkeeper(const tls_doorkeeper&) = delete;
  tls_doorkeeper& operator=(const tls_doorkeeper&) = delete;

  /// Takes a connected, non-blocking socket. From any thread. Closed at once if 4 `most` others have come and
  /// the doorkeeper has not looked at them yet.
  void greet(int socket, welcome done);

 private:
  struct guest {
    int socket;
    std::unique_ptr<tls_session> session;
    welcome done;
    time_point until;
    short wants;  // poll's events
  };
  void run();
  void take_arrivals();
  void make_room();
  bool advance(guest& g);
  void turn_away(guest& g, const std::string& why);

  const tls_context& context_;
  const clock& time_;
  const refusal refused_;
  const options options_;
  int wake_ = -1;  // eventfd
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<std::pair<int, welcome>> arrivals_;
  std::vector<guest> guests_;  // the oldest first; the thread's own
  std::thread thread_;
};

}  // namespace troupe
