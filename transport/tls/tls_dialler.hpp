// TLS dialler: connects to peers, each on a thread of its own for as long as that takes, because resolving a
// name blocks, and a peer that does not answer must not delay others.
#pragma once
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

  /// `limit`: for the connection to each address of a host, and for the handshake. `context` and `time`
  /// outlive it.
  tls_dialler(const tls_context& context, const clock& time, duration limit)
      : context_(context), time_(time), limit_(limit) {}
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
    std::string problem;
  };

  void run(attempt& a, const std::string& host, uint16_t port, const on_end& done);
  connection connect(attempt& a, const std::string& host, uint16_t port);
  bool begin(attempt& a, int socket);
  void forget_ended();

  const tls_context& context_;
  const clock& time_;
  const duration limit_;
  std::mutex mutex_;
  bool over_ = false;
  std::list<attempt> attempts_;
};

}  // namespace troupe
