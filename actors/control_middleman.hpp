// The middleman actor that the control lane's connections go through: CAF's own protocol, but over TLS if the
// cluster has certificates, with a watch on the connections (control_connection.hpp), and with a log of whom
// it turned away (docs/security.md).
#pragma once
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>
#include <memory>

#include "messages/time.hpp"
#include "transport/tls.hpp"

namespace troupe {

/// What `config` needs for a control middleman.
void prepare_control_lane(caf::actor_system_config& config);

/// `tls` null: plain TCP. `time` outlives the actor, which the caller ends with an exit message.
caf::io::middleman_actor spawn_control_middleman(caf::actor_system& system,
                                                 std::shared_ptr<const tls_context> tls, const clock& time);

}  // namespace troupe
