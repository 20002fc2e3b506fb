#include "messages/commands/command_schema.hpp"

#include "messages/commands/commands.hpp"
#include "messages/commands/protocol_schema.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

/// Calls `use` with the protocol of the kind, `<role>_commands`.
template <class Use>
auto with_protocol(role kind, Use&& use) {
#define TROUPE_USE_PROTOCOL(name, number) \
  case role::name: return use(name##_commands{});
  switch (kind) { TROUPE_ROLES(TROUPE_USE_PROTOCOL) }
#undef TROUPE_USE_PROTOCOL
  return use(type_list<>{});
}

}  // namespace

nlohmann::ordered_json command_schema(role kind) {
  return with_protocol(kind, [](auto protocol) { return protocol_schema(protocol); });
}

std::string problem_with(role kind, const command& c) {
  return with_protocol(kind, [&](auto protocol) { return problem_with(protocol, c); });
}

}  // namespace troupe
