// Planned times of a queue's requests: their deadline, their duration alone, and their patience.
#pragma once
#include <algorithm>
#include <cstdint>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

struct request_times {
  network_delay network;  ///< from the order to the inputs on the device
  duration response{};    ///< reserved between the end of a batch and its deadline
  duration margin{};      ///< bound on the delay of a worker's start after its plan
  duration slo{};         ///< tightens planned deadlines; zero: requests keep their own

  time_point planned_deadline(const request& r) const {
    return slo == duration{} ? r.deadline : std::min(r.deadline, r.arrival + slo);
  }
  /// Time from the order to the response of a request that runs alone.
  duration alone(const request& r, const latency_model& latency) const {
    return network(r.rows) + latency(r.rows) + response;
  }
  /// The deadline cannot be met even with a free slot at arrival.
  bool infeasible(const request& r, const latency_model& latency) const {
    return r.arrival + alone(r, latency) > r.deadline;
  }
  /// Time from `now` within which a batch of `batch_rows` rows with the request must leave the queue.
  duration patience(const request& r, uint32_t batch_rows, const latency_model& latency,
                    time_point now) const {
    return r.deadline - now - latency(batch_rows) - network(batch_rows) - 2 * margin;
  }
};

}  // namespace troupe
