// Fabric over mutual TLS, for networks that others can reach: every process listens at one TCP port, and a
// peer without a certificate of the cluster gets no further than the handshake, which runs on a thread of its
// own. Losses are never silent: a frame beyond a limit breaks the connection.
//
// A process dials each of its peers. Frames and requests for pulls leave over that connection, and answers
// come back on it; so bulk bytes are never ahead of the frames of the same direction. The first message
// repeats the secret and the epoch of the address. TLS keeps the order and the content of what follows.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "messages/common/time.hpp"
#include "transport/fabric/fabric.hpp"
#include "transport/fabric/fabric_options.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

struct tls_fabric_options : fabric_options {
  tls_files files;
  std::string host;                        ///< under which peers reach it, and which its certificate names
  std::string listen;                      ///< address to listen on
  uint16_t first_port = 0, last_port = 0;  ///< it listens at the first free port of these; 0: any
  /// A connection was refused: the address of its peer, and the reason. On a thread of the fabric's; may be
  /// empty.
  std::function<void(const std::string& from, const std::string& why)> refused;
};

/// Throws std::runtime_error if it cannot listen, or for files that cannot be read. SIGPIPE must be ignored.
/// `clock` drives `on_tick` and outlives the fabric.
std::unique_ptr<fabric> make_tls_fabric(const tls_fabric_options& options, const clock& clock);

}  // namespace troupe
