// Handles the requests of a batch that has left its worker: it ran, was refused or preempted, or its
// worker died. The batch is no longer in flight. Requests whose gateway is gone are only released.
#pragma once
#include <cstdint>
#include <optional>

#include "messages/tensor/scheduling.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/request_queue.hpp"

namespace troupe {

/// The batch ran, or its worker could not start it in time: then its requests are dropped. A batch that is
/// too late is too late for most of its requests, and would only hold up the requests behind it that can
/// still be in time: a backlog that is planned at its latest start again and again would never end.
void finish_batch(request_queue& queue, const in_flight_batch& batch, const batch_done& d, time_point now);

/// The batch never started, or its worker died. Its requests are queued again, with one more attempt, up to
/// `max_attempts` returns; those that lost a worker as poison retries. Returns the number of attempts made.
uint64_t resubmit_batch(request_queue& queue, const in_flight_batch& batch, uint32_t max_attempts,
                        time_point now);

/// The batch was stopped for a larger one. The order counts against none of its requests: they are let in
/// again whatever the bounds, unless they cannot be in time any more. Returns the number of attempts made.
uint64_t run_batch_again(request_queue& queue, const in_flight_batch& batch, time_point now);

/// Nobody waits for the batch's requests.
void release_batch(request_queue& queue, const in_flight_batch& batch);

/// A gateway's incarnation is over: nobody waits for its requests. Those that wait are released, those in
/// flight when their batch is back. Returns how many there were.
uint64_t forget_gateway(request_queue& queue, node_id node, incarnation_id incarnation);

/// The worker of the batch died; resubmitted, its requests become poison retries.
void note_loss(request_queue& queue, const in_flight_batch& batch, worker_loss loss);

/// A request that failed, for its gateway.
struct failed_request {
  request what;
  failure why = failure::none;
};

/// The worker of a poison retry died: the verdict about its request, which is released. Empty: its gateway is
/// gone.
std::optional<failed_request> judge_poison_retry(request_queue& queue, const in_flight_batch& batch,
                                                 worker_loss loss);

}  // namespace troupe
