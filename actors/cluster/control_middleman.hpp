// The actors that make the control lane's connections: CAF's own protocol, but over TLS if the cluster has
// certificates, with a watch on the connections (control_connection.hpp), and with a log of whom it turned
// away (docs/security.md).
#pragma once
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>
#include <memory>
#include <thread>

#include "messages/common/time.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

/// What `config` needs for a control middleman.
void prepare_control_lane(caf::actor_system_config& config);

class control_middleman {
 public:
  /// `tls` null: plain TCP. `system` and `time` outlive it.
  control_middleman(caf::actor_system& system, std::shared_ptr<const tls_context> tls, const clock& time);
  ~control_middleman();
  control_middleman(const control_middleman&) = delete;
  control_middleman& operator=(const control_middleman&) = delete;

  /// Takes CAF's messages to publish and to unpublish.
  const caf::io::middleman_actor& listener() const { return listener_; }
  /// Takes (connect_atom, host, port), one after the other, and answers like CAF's middleman: node, published
  /// actor, its types. It waits for each host as long as the kernel does. A connection a request: keep what
  /// it answers.
  const caf::actor& dialler() const { return dialler_; }

 private:
  caf::io::middleman_actor listener_;
  caf::actor dialler_;
  std::jthread watch_;  ///< over the connections
};

}  // namespace troupe
