// How long requests take in a queue's plans, and until when they may start.
#pragma once
#include <algorithm>
#include <cstdint>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

struct request_times {
  network_delay network;  ///< from the order to the inputs on the device
  duration response{};    ///< kept free between the end of a batch and its deadline
  duration margin{};      ///< how much later than planned a worker may start
  duration slo{};         ///< tightens the deadlines of plans; zero: the requests' own

  time_point planned_deadline(const request& r) const {
    return slo == duration{} ? r.deadline : std::min(r.deadline, r.arrival + slo);
  }
  /// From an order to the answer of a request that runs alone.
  duration alone(const request& r, const latency_model& latency) const {
    return network(r.rows) + latency(r.rows) + response;
  }
  /// The request asks for less time than it takes, however free the slots are.
  bool infeasible(const request& r, const latency_model& latency) const {
    return r.arrival + alone(r, latency) > r.deadline;
  }
  /// From `now` until a batch of so many rows with the request must have left the queue.
  duration patience(const request& r, uint32_t batch_rows, const latency_model& latency,
                    time_point now) const {
    return r.deadline - now - latency(batch_rows) - network(batch_rows) - 2 * margin;
  }
};

}  // namespace troupe
