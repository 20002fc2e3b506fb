// What a console is to have done by an actor: the argument of "ask" and "tell", read and checked. Strangers
// wrote it.
#pragma once
#include <string>
#include <variant>

#include "actors/operator/actor_name.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

struct console_command {
  address to;
  std::string actor;  ///< as it was called
  command what;       ///< one that an actor of this kind takes
};

/// `c.argument`: {"actor": NAME, "type": COMMAND, "fields": {...}}; without fields, the command's defaults.
/// Or one sentence on what is wrong with it.
std::variant<console_command, std::string> read_order(const command& c, const cluster_spec& cluster,
                                                      const model_finder& models);

}  // namespace troupe
