// The protocols of all roles as data: for `troupe ask --schema`, and for checking a command before it is
// sent.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"

namespace troupe {

/// The protocol of the role, in the form of `protocol_schema` (protocol_schema.hpp). Empty for extensions:
/// only their plug-ins know theirs.
nlohmann::ordered_json command_schema(role kind);

/// Empty if the role takes this command; else one sentence: the path of a field and the values that it takes,
/// or the known commands.
std::string problem_with(role kind, const command& c);

}  // namespace troupe
