#include "messages/commands/command_schema.hpp"

#include "messages/commands/protocol_schema.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

/// Calls `use` with the protocol of the kind.
template <class Use>
auto with_protocol(role kind, Use&& use) {
  switch (kind) {
    case role::node: return use(node_commands{});
    case role::gateway: return use(gateway_commands{});
    case role::model_queue: return use(model_queue_commands{});
    case role::rank_arbiter: return use(rank_arbiter_commands{});
    case role::gpu_worker: return use(gpu_worker_commands{});
    case role::deployer: return use(deployer_commands{});
    case role::console: return use(console_commands{});
    case role::metrics: return use(metrics_commands{});
    case role::placer: return use(placer_commands{});
    case role::llm_gateway: return use(llm_gateway_commands{});
    case role::llm_router: return use(llm_router_commands{});
    case role::llm_engine: return use(llm_engine_commands{});
    case role::extension: break;  // its plug-in knows (actors/extension/extension.hpp)
  }
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
