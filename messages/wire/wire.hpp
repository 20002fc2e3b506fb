// Every message that crosses between nodes, once. The list gives the variant that lanes carry, the CAF type
// ids (caf_types.hpp), the binding to the schema of the same name (schema.hpp) and the round-trip test.
#pragma once
#include <variant>

#include "messages/cluster/membership.hpp"
#include "messages/common/plugin.hpp"
#include "messages/deployment/deployment.hpp"
#include "messages/llm/generation.hpp"
#include "messages/llm/routing.hpp"
#include "messages/tensor/request.hpp"
#include "messages/tensor/scheduling.hpp"

namespace troupe {

/// X(struct, Cap'n Proto struct). A position in the list is the type number on the wire: append, never
/// reorder.
#define TROUPE_WIRE_MESSAGES(X)          \
  X(submit, Submit)                      \
  X(cancel, Cancel)                      \
  X(drops, Drops)                        \
  X(completion, Completion)              \
  X(release, Release)                    \
  X(candidate, Candidate)                \
  X(grant, Grant)                        \
  X(occupied, Occupied)                  \
  X(batch_order, BatchOrder)             \
  X(batch_done, BatchDone)               \
  X(ping, Ping)                          \
  X(pong, Pong)                          \
  X(hello, Hello)                        \
  X(rejection, Rejection)                \
  X(slot_ready, SlotReady)               \
  X(leave_notice, LeaveNotice)           \
  X(command, Command)                    \
  X(command_reply, CommandReply)         \
  X(deployment_log, DeploymentLog)       \
  X(deployment_report, DeploymentReport) \
  X(deploy, Deploy)                      \
  X(redeploy, Redeploy)                  \
  X(undeploy, Undeploy)                  \
  X(move_model, MoveModel)               \
  X(drain_node, DrainNode)               \
  X(change_reply, ChangeReply)           \
  X(leave_ack, LeaveAck)                 \
  X(plugin_message, PluginMessage)       \
  X(handover, Handover)                  \
  X(generate, Generate)                  \
  X(end_choice, EndChoice)               \
  X(generated, Generated)                \
  X(engine_status, EngineStatus)         \
  X(adapters_known, AdaptersKnown)       \
  X(change_adapter, ChangeAdapter)       \
  X(adapter_changed, AdapterChanged)     \
  X(route, Route)                        \
  X(route_ends, RouteEnds)               \
  X(placements, Placements)              \
  X(sequences_preempted, SequencesPreempted)

/// X(struct, Cap'n Proto struct) of what messages are made of.
#define TROUPE_WIRE_PARTS(X)              \
  X(address, Address)                     \
  X(region_ref, RegionRef)                \
  X(request, Request)                     \
  X(dropped_request, DroppedRequest)      \
  X(result, Result)                       \
  X(tensor_spec, TensorSpec)              \
  X(model_signature, ModelSignature)      \
  X(model_ready, ModelReady)              \
  X(batch_times, BatchTimes)              \
  X(latency_model, LatencyModel)          \
  X(model_spec, ModelSpec)                \
  X(deployment, Deployment)               \
  X(deployment_part, DeploymentPart)      \
  X(leadership, Leadership)               \
  X(llm::token_bias, TokenBias)           \
  X(llm::sampling_params, SamplingParams) \
  X(generation, Generation)               \
  X(token_chance, TokenChance)            \
  X(generated_token, GeneratedToken)      \
  X(adapter_entry, AdapterEntry)          \
  X(step_forecast, StepForecast)          \
  X(sequence_progress, SequenceProgress)  \
  X(routed_request, RoutedRequest)        \
  X(placement, Placement)

/// X(enum): each has `to_string(enum)` and `enum_count`; the schema's enumerants must have the same names.
#define TROUPE_WIRE_ENUMS(X) \
  X(role)                    \
  X(memory_kind)             \
  X(drop_reason)             \
  X(failure)                 \
  X(refusal)                 \
  X(data_type)               \
  X(rejection_reason)        \
  X(profile_origin)          \
  X(deployment_state)        \
  X(finish_reason)           \
  X(adapter_answer)          \
  X(route_reason)

template <class E>
inline constexpr size_t enum_count = 0;
#define TROUPE_ENUM_COUNT(name) \
  template <>                   \
  inline constexpr size_t enum_count<name> = name##_count;
TROUPE_WIRE_ENUMS(TROUPE_ENUM_COUNT)
#undef TROUPE_ENUM_COUNT

#define TROUPE_WIRE_NAME(name, schema) , name
namespace detail {
template <class First, class... Ts>
struct wire_types {  // `First` only absorbs the leading comma of the list
  using variant = std::variant<Ts...>;
  using list = type_list<Ts...>;
};
using all_wire_types = wire_types<void TROUPE_WIRE_MESSAGES(TROUPE_WIRE_NAME)>;
}  // namespace detail
#undef TROUPE_WIRE_NAME

using wire_message = detail::all_wire_types::variant;
using wire_message_list = detail::all_wire_types::list;

}  // namespace troupe
