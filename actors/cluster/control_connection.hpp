// A connection of the control lane: CAF's protocol over TCP or TLS. Both ends send heartbeats. The connection
// is closed when the peer announces a message above `largest_control_message`, or after some seconds without
// data. Dead connections must be closed, because CAF drops all data of a second connection to a node while it
// has the first one.
#pragma once
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/scribe.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/tls/tls.hpp"

namespace troupe {

/// Bytes of the largest message on the control lane; the announcement of a larger one closes the connection.
inline constexpr size_t largest_control_message = 16 << 20;
/// Interval of the heartbeats of each end.
inline constexpr std::chrono::seconds control_heartbeat{1};
/// Missing heartbeats that close a connection. Counted, not timed: a process that was frozen closes none.
inline constexpr int missing_heartbeats = 4;

/// The connections of a process. Thread-safe.
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
