// Statistics of the clients: their requests and the outcomes.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "policies/common/latency_histogram.hpp"

namespace troupe::sim {

/// How a request ended for its client. The last two are decided by the client: `refused` was never accepted,
/// and `lost_with_gateway` lost its gateway's process.
enum class client_outcome : uint8_t { finished, dropped, failed, refused, lost_with_gateway };
inline constexpr size_t client_outcome_count = 5;

/// A request that was offered and has no outcome yet.
struct client_request_record {
  request_id id;
  model_id model;
  uint32_t rows = 1;
  uint64_t shape = 0;  ///< its shape class
  node_id gateway;
  uint64_t input_bytes = 0;
  duration offered_at{};
  duration accepted_at{};  ///< later than offered if the gateway was frozen
  duration slo{};
  bool accepted = false;
  bool poison = false;           ///< crashes every worker that runs it
  bool measured = false;         ///< offered after the warm-up
  std::vector<node_id> workers;  ///< that received an order to run it
};

/// Statistics of the requests of one model.
struct request_statistics {
  uint64_t offered = 0;
  uint64_t outcomes[client_outcome_count] = {};
  uint64_t in_slo = 0;       ///< finished and in time
  uint64_t no_capacity = 0;  ///< dropped: no living worker had the model
  request_id first_dropped;  ///< 0: none was
  latency_histogram latency;
  uint64_t of(client_outcome f) const { return outcomes[static_cast<size_t>(f)]; }
};

}  // namespace troupe::sim
