// Events on the own node, which actors receive besides messages of other actors. Among them
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

/// An incarnation of a peer is up: both clocks are known, messages may flow. Also said of the own node.
struct node_up {
  node_id node;
  incarnation_id incarnation;
};

/// An incarnation of a peer is over, for good.
struct node_down {
  node_id node;
  incarnation_id incarnation;
  bool crashed = false;  ///< as a process that crashes ends: its connection broke, without a leave notice
};

/// An incarnation of a peer drains: it finishes what it has and takes nothing new.
struct node_leaving {
  node_id node;
  incarnation_id incarnation;
};

/// This node was declared dead by its peers (or noticed that it was frozen) and begins a new incarnation:
/// what belonged to the old one is void.
struct new_incarnation {
  incarnation_id incarnation;
};

/// This node drains: finish what is here, take nothing new.
struct drain {};

/// The pull with this token has ended.
struct pulled {
  uint64_t token = 0;
  pull_status status = pull_status::lost;
};

/// The device has something to poll.
struct device_ready {};

/// This node has heard of a deployment: the log's line about a model is now this one.
struct model_change {
  deployment line;
};

/// To the own deployer: nobody here needs the model any more. A gateway: it answered all requests for a
/// retiring model. A worker: its device has let an undeployed model go.
struct model_idle {
  model_id model;
  uint64_t revision = 0;  ///< of the line that said so
  address who;
};

/// A client's request has been parsed, its input lies in registered memory. `asked.id` is the frontend's; the
/// gateway keeps it and answers exactly once through its `client_port`.
struct client_request {
  request asked;
};

/// A client's generation requests have been parsed and cut into tokens; several if it sent several prompts.
/// Their ids are the frontend's.
struct generation_request {
  std::vector<generation> asked;
};

/// The client of this request is gone.
struct client_gone {
  request_id id;
};

/// arbiter → model queues, on their own node: the slot is granted no more, or again.
struct slot_service {
  slot_id slot;
  bool in = true;
};

/// model queue → arbiter, on their own node: what became of requests since it said so last, for the advice on
/// how many GPUs the load needs.
struct queue_load {
  uint64_t good = 0;  ///< ran in time
  uint64_t bad = 0;   ///< ran late, or were dropped for want of time or room
};

/// arbiter → model queue, on their own node: each of these slots has the model for a share of its requests,
/// in batches of a planned size (policies/baselines/squishy_packing.hpp).
struct backends {
  struct backend {
    slot_id slot;
    uint32_t batch = 0;  ///< rows
    double weight = 0;   ///< requests that it gets, in proportion to those of the others
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
  uint64_t requests = 0;  ///< that the queue has received since it began
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

/// A class of its own so that what copies, moves and destroys fifty kinds of messages is compiled once.
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

/// A wire message as an actor gets it.
actor_message to_actor_message(wire_message&& m);

}  // namespace troupe
