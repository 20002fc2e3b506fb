// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"

namespace troupe {

/// An incarnation of a peer is up: its clock offset is known, and messages can be sent. Also sent for the own
/// node.
struct node_up {
  node_id node;
  incarnation_id incarnation;
  TROUPE_MESSAGE(node_up, node, incarnation)
};

/// An incarnation of a peer has ended, permanently.
struct node_down {
  node_id node;
  incarnation_id incarnation;
  bool crashed = false;  ///< its connection broke without a leave notice, as when a process crashes
  TROUPE_MESSAGE(node_down, node, incarnation, crashed)
};

/// An incarnation of a peer drains: it finishes its work and accepts no more.
struct node_leaving {
  node_id node;
  incarnation_id incarnation;
  TROUPE_MESSAGE(node_leaving, node, incarnation)
};

/// This node was declared dead by its peers (or noticed that it was frozen) and begins a new incarnation: all
/// state of the old one that peers share is void. Gateways go on with the requests of their clients.
struct new_incarnation {
  incarnation_id incarnation;
  TROUPE_MESSAGE(new_incarnation, incarnation)
};

/// This node drains: finish the current work, accept no more.
struct drain {
  TROUPE_MESSAGE(drain)
};

/// placer → model queue: answer with `received_requests`.
struct query_received {
  uint64_t token = 0;
  TROUPE_MESSAGE(query_received, token)
};

/// model queue → placer.
struct received_requests {
  uint64_t token = 0;     ///< of the query
  uint64_t requests = 0;  ///< received by the queue since it began
  TROUPE_MESSAGE(received_requests, token, requests)
};

/// `leadership`: the leader has changed.
using cluster_events = type_list<node_up, node_down, node_leaving, new_incarnation, drain, leadership,
                                 query_received, received_requests>;

}  // namespace troupe
