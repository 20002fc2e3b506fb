// TLS dialler: connects to peers, each on a thread of its own for as long as that takes, because resolving a
// name blocks, and a peer that does not answer must not delay others.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "messages/common/time.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

class tls_dialler {
 public:
  /// The socket, non-blocking and now the receiver's, with its session; or -1 and the problem. On the thread
  /// of the dial.
  using on_end = std::function<void(int socket, std::unique_ptr<tls_session> session, std::string problem)>;

  struct options {
    duration attempt = 2s;  ///< for the connection to each address of a host, and for the handshake
    duration total = 10s;   ///< a dial is repeated until then, unless the peer refuses connections
  };

  /// `context` and `time` outlive it.
  tls_dialler(const tls_context& context, const clock& time, const options& o)
      : context_(context), time_(time), options_(o) {}
  /// Gives up what is under way, and waits for it: a name that is being resolved takes its time.
  ~tls_dialler();
  tls_dialler(const tls_dialler&) = delete;
  tls_dialler& operator=(const tls_dialler&) = delete;

  /// The peer's certificate must name `host`. By one thread at a time.
  void dial(const std::string& host, uint16_t port, on_end done);

 private:
  struct attempt {
    std::thread thread;
    int socket = -1;  ///< while it is being connected
    bool ended = false;
  };
  struct connection {
    int socket = -1;
    std::unique_ptr<tls_session> session;
    std::string problem;
    bool final = false;  ///< another attempt would end in the same way
  };

  void run(attempt& a, const std::string& host, uint16_t port, const on_end& done);
  connection reach(attempt& a, const std::string& host, uint16_t port);
  connection connect(attempt& a, const std::string& host, uint16_t port);
  bool begin(attempt& a, int socket);
  bool pause();
  void forget_ended();

  const tls_context& context_;
  const clock& time_;
  const options options_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool over_ = false;
  std::list<attempt> attempts_;
};

}  // namespace troupe
