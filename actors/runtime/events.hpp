// Events on the own node, which actors receive besides the messages of other actors. One of them is
// `leadership` (messages/cluster/membership.hpp): the leader has changed.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "messages/wire/wire.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// An incarnation of a peer is up: its clock offset is known, and messages can be sent. Also sent for the own
/// node.
struct node_up {
  node_id node;
  incarnation_id incarnation;
};

/// An incarnation of a peer has ended, permanently.
struct node_down {
  node_id node;
  incarnation_id incarnation;
  bool crashed = false;  ///< its connection broke without a leave notice, as when a process crashes
};

/// An incarnation of a peer drains: it finishes its work and accepts no more.
struct node_leaving {
  node_id node;
  incarnation_id incarnation;
};

/// This node was declared dead by its peers (or noticed that it was frozen) and begins a new incarnation: all
/// state of the old one is void.
struct new_incarnation {
  incarnation_id incarnation;
};

/// This node drains: finish the current work, accept no more.
struct drain {};

/// The pull with this token has ended.
struct pulled {
  uint64_t token = 0;
  pull_status status = pull_status::lost;
};

/// The device has results to poll.
struct device_ready {};

/// The deployment log's line of a model has changed to this one.
struct model_change {
  deployment line;
};

/// To the own deployer: `who` no longer uses the model. From a gateway: it has answered all requests for a
/// retiring model. From a worker: its device has unloaded the model. From a model queue: no batch runs in the
/// domain that the model left.
struct model_idle {
  model_id model;
  uint64_t revision = 0;  ///< of the line that retired, undeployed or moved it
  address who;
};

/// A parsed request of a client, with its input in registered memory. The frontend assigns `asked.id`; the
/// gateway keeps it and answers exactly once through its `client_port`.
struct client_request {
  request asked;
};

/// Generation requests of a client, parsed and tokenised; several if it sent several prompts. The frontend
/// assigns their ids.
struct generation_request {
  std::vector<generation> asked;
};

/// The client of this request has disconnected.
struct client_gone {
  request_id id;
};

/// arbiter → model queues, on their own node: the slot is out of service, or in service again.
struct slot_service {
  slot_id slot;
  bool in = true;
};

/// model queue → arbiter, on their own node: outcomes since the last report, for autoscaling and for policies
/// that place models.
struct queue_load {
  uint64_t good = 0;  ///< requests that ran in time
  uint64_t bad = 0;   ///< requests that ran late, or were dropped because of their deadline or a full queue
};

/// arbiter → model queue, on their own node: the slots that serve the model, each with a planned batch size
/// and a share of the requests (policies/baselines/squishy_packing.hpp).
struct backends {
  struct backend {
    slot_id slot;
    uint32_t batch = 0;  ///< rows
    double weight = 0;   ///< share of the requests, in proportion to the other weights
  };
  std::vector<backend> of;
};

/// placer → model queue, on their own node: answer with `received_requests`.
struct query_received {
  uint64_t token = 0;
};

/// model queue → placer, on their own node.
struct received_requests {
  uint64_t token = 0;     ///< of the query
  uint64_t requests = 0;  ///< received by the queue since it began
};

namespace detail {
template <class Variant, class... More>
struct extend;
template <class... Ts, class... More>
struct extend<std::variant<Ts...>, More...> {
  using type = std::variant<Ts..., More...>;
};
}  // namespace detail

using any_actor_message =
    detail::extend<wire_message, node_up, node_down, node_leaving, new_incarnation, drain, pulled,
                   device_ready, client_request, client_gone, model_change, model_idle, slot_service,
                   queue_load, leadership, backends, generation_request, query_received,
                   received_requests>::type;

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
