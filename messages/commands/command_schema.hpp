// What can be asked of which actor, as data: for `troupe ask --schema` and for checking a command before it
// is sent.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"

namespace troupe {

/// The protocol of a kind of actor as `schema_of` tells it (protocol_schema.hpp). Empty for kinds that take
/// no commands, and for extensions: their plug-ins know.
nlohmann::ordered_json command_schema(role kind);

/// Nothing if an actor of this kind takes such a command, else what is wrong with it: the path of a field
/// and what it must be, or which commands there are.
std::string problem_with(role kind, const command& c);

}  // namespace troupe
