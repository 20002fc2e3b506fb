// Requests of a batch that has left its worker, because it ran, was refused or preempted, or its worker died.
// The batch is no longer in flight. Requests of a lost gateway are released
// without a message to it.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/request_queue.hpp"

namespace troupe {

/// The batch ran, or its worker refused it as late. The requests of a late batch are dropped rather than
/// queued again: most of them are late on their own, and they would delay the requests behind them that can
/// still be in time.
void finish_batch(request_queue& queue, const in_flight_batch& batch, const batch_done& d, time_point now);

/// The batch never started, or its worker died. Its requests are queued again, with one more attempt; those
/// that lost a worker, as poison retries. A request is dropped at its return number `max_attempts`. Returns
/// the number of attempts made.
uint64_t resubmit_batch(request_queue& queue, const in_flight_batch& batch, uint32_t max_attempts,
                        time_point now);

/// The batch was preempted by a larger one. Its requests are queued again without an admission bound, unless
/// they can no longer be in time. Returns the number of attempts made.
uint64_t run_batch_again(request_queue& queue, const in_flight_batch& batch, time_point now);

/// Releases the batch's requests without a report.
void release_batch(request_queue& queue, const in_flight_batch& batch);

/// The incarnation of a gateway has ended. Its queued requests are released now, those in flight when their
/// batch returns. Returns the number of these requests.
uint64_t forget_gateway(request_queue& queue, node_id node, incarnation_id incarnation);

/// The worker of the batch died: its requests are suspects now, which `resubmit_batch` will queue as poison
/// retries; also those that a new incarnation of their gateway has sent again or will send again. Returns the
/// known ones by gateway, in the order of the first request of each.
std::vector<std::pair<address, suspects>> note_loss(request_queue& queue, const in_flight_batch& batch,
                                                    worker_loss loss, time_point now);

/// A failed request, to be reported to its gateway.
struct failed_request {
  request what;
  failure why = failure::none;
};

/// The worker of a poison retry died. Releases the request and returns its failure; empty if its gateway is
/// gone.
std::optional<failed_request> judge_poison_retry(request_queue& queue, const in_flight_batch& batch,
                                                 worker_loss loss);

}  // namespace troupe
