// A tensor request that a gateway has accepted, kept from admission until all work for it has ended.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/common/in_flight_requests.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

struct in_flight_request : in_flight_state {
  request asked;
  region_ref output;              ///< offered by a worker; empty: none
  address worker;                 ///< the worker that offers it
  std::vector<std::byte> pulled;  ///< the buffer of the pull; empty: the pull has not begun
  batch_id batch;
  uint32_t batch_rows = 0;
  batch_times times{};
  time_point completed_at = never;  ///< when the completion arrived
  uint32_t losses = 0;              ///< how often its input or output was lost between two living nodes

  bool being_pulled() const { return output && !pulled.empty(); }
};

}  // namespace troupe
