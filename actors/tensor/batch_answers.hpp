// Answers to a batch that ran: for its queue and the arbiter, and for each gateway the results of its
// requests.
#pragma once
#include <utility>
#include <vector>

#include "actors/runtime/peers_up.hpp"
#include "actors/tensor/order_queue.hpp"

namespace troupe {

/// When a batch passed its stations.
batch_times times_of(const ordered_batch& b, const batch_outcome& outcome);

struct batch_answers {
  batch_done done;
  std::vector<std::pair<address, completion>> replies;  ///< gateways in the order of their first requests
};

/// Parts that failed on the device, or whose gateway is not up, have an error afterwards. Of parts with an
/// error the result names no output: nobody would pull it and release it.
batch_answers answers_to(ordered_batch& b, const batch_outcome& outcome, const peers_up& up);

}  // namespace troupe
