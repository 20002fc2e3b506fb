// Fabric over UCX: shared memory between the processes of a host, TCP or RDMA between hosts. One UCX worker
// per process, owned by a progress thread that spins briefly and then sleeps in the kernel.
//
// Losses are never silent: a frame beyond a limit breaks the connection, so that both ends begin anew.
//
// Frames are eager active messages of any size up to `max_frame_bytes`: UCX keeps the order of eager
// messages, while the body of a rendezvous message would arrive after later frames. Every frame carries its
// number on the connection, and the receiver checks it: a gap breaks the connection, so the frames that
// arrive are a prefix of those sent. Bulk bytes are pulled, not sent in frames.
//
// A pull is a one-sided get if the peer's memory can be addressed (shared memory: the peer need not even
// run). Otherwise the peer's progress thread sends the bytes: over TCP, UCX would emulate the get with
// messages, at half the bandwidth or less.
//
// Messages without this process's secret are discarded unread. UCX itself authenticates nothing: anyone who
// reaches its ports can make it misbehave.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messages/common/time.hpp"
#include "transport/fabric/fabric.hpp"
#include "transport/fabric/fabric_options.hpp"

namespace troupe {

enum class pull_path { automatic, one_sided, by_message };

struct ucx_options : fabric_options {
  pull_path pulls = pull_path::automatic;
  /// Environment variables of UCX, set unless the user has set them. Without POSIX_ERROR_HANDLING, UCX
  /// silently falls back to TCP between processes of one host.
  std::vector<std::pair<std::string, std::string>> environment = {
      {"UCX_TLS", "posix,cma,tcp,self"},
      {"UCX_POSIX_ERROR_HANDLING", "y"},
      {"UCX_KEEPALIVE_INTERVAL", "200ms"},
  };
};

/// Changes the environment: call it before other threads start. `clock` drives `on_tick` and outlives the
/// fabric. Throws std::runtime_error if UCX cannot be started.
std::unique_ptr<fabric> make_ucx_fabric(const ucx_options& options, const clock& clock);

}  // namespace troupe
