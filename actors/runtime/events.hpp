// The messages that actors receive: those between nodes, and events on the own node. Each subject lists its
// events in messages/<subject>/events.hpp, as structs with TROUPE_MESSAGE; those of the runtime are here.
#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "messages/cluster/events.hpp"
#include "messages/common/events.hpp"
#include "messages/deployment/events.hpp"
#include "messages/llm/events.hpp"
#include "messages/scaling/events.hpp"
#include "messages/tensor/events.hpp"
#include "messages/wire/wire.hpp"
#include "transport/fabric/pull_status.hpp"

namespace troupe {

/// The pull with this token has ended.
struct pulled {
  uint64_t token = 0;
  pull_status status = pull_status::lost;
  TROUPE_MESSAGE(pulled, token, status)
};

/// The device has results to poll.
struct device_ready {
  TROUPE_MESSAGE(device_ready)
};

using runtime_events = type_list<pulled, device_ready>;

using any_actor_message = variant_of<wire_message_list, common_events, tensor_events, llm_events,
                                     deployment_events, cluster_events, scaling_events, runtime_events>;

/// A class of its own, so that the copy, move and destruction of all message types are compiled once.
struct actor_message : any_actor_message {
  using any_actor_message::any_actor_message;
  actor_message(const actor_message& m);
  actor_message(actor_message&& m) noexcept;
  actor_message& operator=(const actor_message& m);
  actor_message& operator=(actor_message&& m) noexcept;
  ~actor_message();
};

struct envelope {
  address from;
  address to;
  actor_message body;
};
using message_batch = std::vector<envelope>;

/// Converts a message from the wire.
actor_message to_actor_message(wire_message&& m);

}  // namespace troupe
