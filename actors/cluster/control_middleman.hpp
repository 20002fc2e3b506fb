// control_middleman owns the actors that listen and dial for the control lane. Connections use CAF's
// protocol, over TLS if the cluster has certificates (docs/security.md). A thread checks their heartbeats
// (control_connection.hpp); refused connections are logged.
#pragma once
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/sec.hpp>
#include <memory>
#include <thread>

#include "messages/common/time.hpp"
#include "transport/tls/tls.hpp"

namespace troupe {

/// Adds the settings of a control middleman to `config`.
void prepare_control_lane(caf::actor_system_config& config);

class control_middleman {
 public:
  /// The dialler's error if the host is there and nothing listens at the port. Other errors say less: the
  /// host is out of reach, or who listens is frozen or no node.
  static constexpr caf::sec refused = caf::sec::cannot_connect_to_node;

  /// `tls` null: plain TCP. `system` and `time` outlive it.
  control_middleman(caf::actor_system& system, std::shared_ptr<const tls_context> tls, const clock& time);
  ~control_middleman();
  control_middleman(const control_middleman&) = delete;
  control_middleman& operator=(const control_middleman&) = delete;

  /// Takes CAF's messages to publish and to unpublish an actor.
  const caf::io::middleman_actor& listener() const { return listener_; }
  /// Takes (connect_atom, host, port) and answers like CAF's middleman: node, published actor, its types. It
  /// handles one request at a time, for some seconds if the host does not answer. Every request makes a new
  /// connection, so callers keep the answer.
  const caf::actor& dialler() const { return dialler_; }

 private:
  caf::io::middleman_actor listener_;
  caf::actor dialler_;
  std::jthread watch_;  ///< checks the heartbeats
};

}  // namespace troupe
