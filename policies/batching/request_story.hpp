// Builds the request story of `troupe why` (messages/tensor/decisions.hpp): the queue's decisions about one
// request, from the decision log and the request table.
#pragma once
#include <cstddef>

#include "messages/tensor/decisions.hpp"
#include "policies/batching/decision_log.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/request_table.hpp"

namespace troupe {

/// The decision log's record of a request.
decision_log::known_request known_request(const request_table::entry& e);

/// Returns the story without names and parameters, which the queue adds. It has at most the latest
/// `max_candidates` candidates. O(log + table): for commands only.
request_story explain(request_id id, const decision_log& log, const request_table& table,
                      const in_flight_batches& in_flight, size_t max_candidates);

}  // namespace troupe
