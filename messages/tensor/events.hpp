// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

/// A parsed request of a client, with its input in registered memory. The frontend assigns `asked.id`; the
/// gateway keeps it and answers exactly once through its `client_port`.
struct client_request {
  request asked;
  TROUPE_MESSAGE(client_request, asked)
};

/// arbiter → model queues: the slot is out of service, or in service again.
struct slot_service {
  slot_id slot;
  bool in = true;
  TROUPE_MESSAGE(slot_service, slot, in)
};

/// model queue → arbiter: outcomes since the last report, for autoscaling and for policies that place models.
struct queue_load {
  uint64_t good = 0;  ///< requests that ran in time
  uint64_t bad = 0;   ///< requests that ran late, or were dropped in overload
  TROUPE_MESSAGE(queue_load, good, bad)
};

/// arbiter → model queue: the slots that serve the model, each with a planned batch size and a share of the
/// requests (policies/baselines/squishy_packing.hpp).
struct backends {
  struct backend {
    slot_id slot;
    uint32_t batch = 0;  ///< rows
    double weight = 0;   ///< share of the requests, in proportion to the other weights
    TROUPE_MESSAGE(backend, slot, batch, weight)
  };
  std::vector<backend> of;
  TROUPE_MESSAGE(backends, of)
};

using tensor_events = type_list<client_request, slot_service, queue_load, backends>;

}  // namespace troupe
