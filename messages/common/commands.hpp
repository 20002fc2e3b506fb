// Commands to actors from outside (`troupe ask`, `troupe tell`). The protocol of a role is `<role>_commands`,
// a list of exchanges in messages/<subject>/commands.hpp: each a command and its reply, both TROUPE_MESSAGEs
// that travel as JSON (messages/wire/json.hpp), never on the data lane.
//
// Time points are of the clock of the actor's node. In JSON they and durations are nanoseconds.
#pragma once
#include <cstdint>

#include "messages/common/message.hpp"

namespace troupe {

/// Limit of the entries of a list in a reply.
inline constexpr uint32_t longest_list = 1000;

/// `Reply` answers `Command`.
template <class Command, class Reply>
struct exchange {
  using command = Command;
  using reply = Reply;
};

/// Description of a command in one line, its `about`; empty if it has none.
template <class T>
constexpr const char* about() {
  if constexpr (requires { T::about; })
    return T::about;
  else
    return "";
}

// Of several roles.

struct get_state {
  static constexpr const char* about = "state of the actor";
  TROUPE_MESSAGE(get_state)
};

/// The reply to commands that have nothing to report.
struct acknowledged {
  TROUPE_MESSAGE(acknowledged)
};

}  // namespace troupe
