// The story of a request: what its queue decided about it, from the decision log and the request table
// (messages/tensor/decisions.hpp).
#pragma once
#include <cstddef>

#include "messages/tensor/decisions.hpp"
#include "policies/batching/decision_log.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/request_table.hpp"

namespace troupe {

/// A request as the decision log keeps it.
decision_log::known_request known_request(const request_table::entry& e);

/// All of the story but names and parameters, which are the queue's. At most the latest `max_candidates`
/// candidates. O(log + table): for commands, not for the hot path.
request_story explain(request_id id, const decision_log& log, const request_table& table,
                      const in_flight_batches& in_flight, size_t max_candidates);

}  // namespace troupe
