// Commands for the traces that gateways and workers record for `troupe trace`. Part of
// messages/tensor/commands.hpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

/// Bound of the entries in an actor's trace.
inline constexpr uint32_t largest_trace = 65536;

struct start_trace {
  static constexpr const char* about = "record events into a ring of `capacity` entries, until stop_trace";
  uint32_t capacity = 4096;
  uint32_t sample = 1;  ///< records one in `sample` requests, by a hash of the id; all batches are recorded
  TROUPE_MESSAGE(start_trace, capacity, sample)
};
struct stop_trace {
  static constexpr const char* about = "stop recording, and delete the records";
  TROUPE_MESSAGE(stop_trace)
};
struct take_trace {
  static constexpr const char* about = "return the records since the last call, oldest first";
  uint32_t limit = 1000;
  TROUPE_MESSAGE(take_trace, limit)
};

/// One request at its gateway. Times are `never` for stages that it did not reach.
struct request_trace {
  request_id id;
  model_id model;
  uint32_t rows = 0;
  std::string outcome;  ///< finished, dropped or failed
  std::string reason;   ///< of a drop or failure
  batch_id batch;       ///< 0: none
  slot_id slot;         ///< of that batch
  time_point arrival = never;
  time_point accepted_at = never;  ///< parsed, with its input in registered memory
  batch_times times{};
  time_point completed_at = never;  ///< when the gateway learnt that its batch was done
  time_point answered_at = never;
  TROUPE_MESSAGE(request_trace, id, model, rows, outcome, reason, batch, slot, arrival, accepted_at, times,
                 completed_at, answered_at)
};
struct traced_requests {
  uint64_t lost = 0;  ///< entries overwritten since the last call
  bool more = false;  ///< entries are left: call again
  std::vector<request_trace> requests;
  TROUPE_MESSAGE(traced_requests, lost, more, requests)
};

struct batch_trace {
  batch_id batch;
  model_id model;
  slot_id slot;
  uint32_t rows = 0;
  uint32_t requests = 0;
  std::string refused;  ///< why it did not run, or "preempted"; empty: it ran
  batch_times times{};
  TROUPE_MESSAGE(batch_trace, batch, model, slot, rows, requests, refused, times)
};
struct traced_batches {
  uint64_t lost = 0;
  bool more = false;
  std::vector<batch_trace> batches;
  TROUPE_MESSAGE(traced_batches, lost, more, batches)
};

}  // namespace troupe
