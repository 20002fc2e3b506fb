// Answers to a batch that ran: for its queue and the arbiter, and for each gateway the results of its
// requests.
#pragma once
#include <utility>
#include <vector>

#include "actors/runtime/peers_up.hpp"
#include "actors/tensor/ordered_batch.hpp"

namespace troupe {

/// The timestamps of a batch.
batch_times times_of(const ordered_batch& b, const batch_outcome& outcome);

struct batch_answers {
  batch_done done;
  std::vector<std::pair<address, completion>> replies;  ///< gateways in the order of their first requests
};

/// Sets the errors of parts that failed on the device or whose gateway is not up. Results with an error name
/// no output, because no gateway would release it.
batch_answers answers_to(ordered_batch& b, const batch_outcome& outcome, const peers_up& up);

}  // namespace troupe
