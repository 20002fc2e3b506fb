// A connection of the control lane: CAF's own protocol over TCP, or over TLS. It is cut when a message is
// announced that is larger than `largest_control_message`, or when nothing has come for some seconds: both
// ends send heartbeats, but CAF drops all that arrives over a second connection to a node, also when the
// first one is dead and that has only not been noticed yet.
#pragma once
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/scribe.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/tls/tls.hpp"

namespace troupe {

/// The largest message on the control lane; who announces more is cut off.
inline constexpr size_t largest_control_message = 16 << 20;
/// How often each end of a connection says that it lives.
inline constexpr std::chrono::seconds control_heartbeat{1};
/// How many heartbeats may be missing. Counted, not timed: a process that was frozen finds nobody silent.
inline constexpr int missing_heartbeats = 4;

/// The connections of a process.
class control_connections {
 public:
  class member {
   public:
    virtual ~member() = default;
    /// Once every `control_heartbeat`, on the loop's thread.
    virtual void check_heartbeat() = 0;
  };
  void add(member& m);
  void remove(member& m);
  void check_heartbeat();

 private:
  std::mutex mutex_;
  std::vector<member*> members_;
};

/// `tls` null: plain TCP. Owns the socket. `loop` outlives the connection.
caf::io::scribe_ptr make_control_connection(caf::io::network::default_multiplexer& loop,
                                            caf::io::network::native_socket socket,
                                            std::unique_ptr<tls_session> tls,
                                            std::shared_ptr<control_connections> all);

}  // namespace troupe
