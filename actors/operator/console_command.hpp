// Parser of the argument of the console's "ask" and "tell". The input is untrusted.
#pragma once
#include <string>
#include <variant>

#include "actors/operator/actor_name.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

struct console_command {
  address to;
  std::string actor;  ///< its name in the argument
  command what;       ///< a valid command of the actor's protocol
};

/// `c.argument`: {"actor": NAME, "type": COMMAND, "fields": {...}}; without fields, the command's defaults.
/// Returns one sentence about the first error, if there is one.
std::variant<console_command, std::string> read_order(const command& c, const cluster_spec& cluster,
                                                      const name_lookup& lookup);

}  // namespace troupe
