// A tensor request that a gateway has accepted, from admission until nobody works for it any more.
#pragma once
#include <cstddef>
#include <vector>

#include "actors/common/in_flight_requests.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

struct in_flight_request : in_flight_state {
  request asked;
  region_ref output;              ///< offered by a worker; empty: none is
  address worker;                 ///< the worker that offers it
  std::vector<std::byte> pulled;  ///< the buffer of the pull; empty: the output waits for room
  batch_id batch;
  uint32_t batch_rows = 0;
  batch_times times{};
  time_point completed_at = never;  ///< the completion came

  bool being_pulled() const { return output && !pulled.empty(); }
};

}  // namespace troupe
