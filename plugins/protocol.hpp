// The command protocol of a plug-in's actor: a type list of commands, as for Troupe's own actors
// (messages/commands/commands.hpp).
//
//   using tally_commands = type_list<exchange<get_savings, savings>>;
//   host.actor("tally", make, protocol_of(tally_commands{}));
//
// The actor answers them in `on_command`, with `run_command` (messages/commands/run_command.hpp). Needs
// nlohmann_json.
#pragma once
#include "actors/extension/extension.hpp"
#include "messages/commands/protocol_schema.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

template <class... Es>
extension_protocol protocol_of(type_list<Es...> commands) {
  return {protocol_schema(commands).dump(),
          [commands](const command& c) { return problem_with(commands, c); }};
}

}  // namespace troupe
